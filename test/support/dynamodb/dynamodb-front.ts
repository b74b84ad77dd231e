import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "../servers.js";

/** What happens to one request. The promise of `hold` is awaited between the write and its answer. */
export type FrontFault =
  "lose the answer" | "throttle" | "fail after the write" | { hold: Promise<void> };

/** An HTTP server in front of dynalite that adds what dynalite lacks, and faults. */
export type DynamodbFront = Awaited<ReturnType<typeof startDynamodbFront>>;

const JSON_TYPE = { "content-type": "application/x-amz-json-1.0" };

/** Starts the front on a free port. `serverUrl`: that of dynalite. */
export async function startDynamodbFront(serverUrl: string) {
  const ttls = new Map<string, unknown>();
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const target = String(request.headers["x-amz-target"]);
    const operation = target.slice(target.indexOf(".") + 1);
    const body = (await buffer(request)).toString();
    front.operations.push(operation);
    const input = JSON.parse(body) as DynamodbInput;
    const fault = front.faultOf(operation);
    const reply = (status: number, output: unknown) =>
      response.writeHead(status, JSON_TYPE).end(JSON.stringify(output));
    const forward = async (name: string, payload: string) => {
      const { authorization = "", "x-amz-date": date } = request.headers;
      const headers = { ...JSON_TYPE, authorization, "x-amz-date": String(date) };
      const answered = await fetch(serverUrl, {
        method: "POST",
        headers: { ...headers, "x-amz-target": `DynamoDB_20120810.${name}` },
        body: payload,
      });
      return {
        status: answered.status,
        output: (await answered.json()) as Record<string, unknown>,
      };
    };

    if (fault === "throttle") {
      const __type = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
      return void reply(400, { __type, message: "slow down" });
    }
    if (operation.endsWith("TimeToLive")) {
      const given = input.TimeToLiveSpecification;
      if (given !== undefined) ttls.set(input.TableName, given.AttributeName);
      const name = ttls.get(input.TableName);
      const description = { TimeToLiveStatus: name === undefined ? "DISABLED" : "ENABLED" };
      const TimeToLiveDescription = { ...description, AttributeName: name };
      return void reply(200, { TimeToLiveDescription, TimeToLiveSpecification: given });
    }
    const { status, output } = await forward(operation, body);
    if (front.returnsItems && String(output["__type"]).includes("ConditionalCheckFailed")) {
      const Key = input.Key ?? { id: input.Item?.["id"] };
      const read = { TableName: input.TableName, Key, ConsistentRead: true };
      output["Item"] = (await forward("GetItem", JSON.stringify(read))).output["Item"];
    }
    if (fault === "lose the answer") return void request.socket.destroy();
    if (fault === "fail after the write") {
      const __type = "com.amazonaws.dynamodb.v20120810#InternalServerError";
      return void reply(500, { __type, message: "no" });
    }
    await fault?.hold;
    reply(status, output);
  };

  const { port, close } = await listen(server);
  const front = {
    url: `http://127.0.0.1:${port}`,
    /** The operations that have arrived, such as `PutItem`. */
    operations: [] as string[],
    /** Called with each operation. Default: no fault. */
    faultOf: (() => undefined) as (operation: string) => FrontFault | undefined,
    /** Whether a failed condition returns the item, as DynamoDB does and dynalite does not. */
    returnsItems: true,
    close: async () => {
      server.closeAllConnections();
      await close();
    },
  };
  return front;
}

interface DynamodbInput {
  readonly TableName: string;
  readonly Key?: Record<string, unknown>;
  readonly Item?: Record<string, unknown>;
  readonly TimeToLiveSpecification?: { readonly AttributeName: string };
}
