import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import type {
  DynamoTableClient,
  DynamoClient,
} from "../../../src/stores/dynamodb/dynamo-client.js";
import { crashingStore, type StoreServer } from "../../faults/stores/store-server.js";
import { installPlatform, loadFrom } from "../platform-packages.js";
import { startServer } from "../server-process.js";
import { listenHttp } from "../servers.js";

/** A dynalite in its own process, with its data in a folder of its own. */
export type DynaliteServer = Awaited<ReturnType<typeof startDynalite>>;

/** On a busy machine the SDK writes to a connection just when dynalite closes it, idle for the 5 s that Node allows. */
const NO_IDLE_LIMIT =
  'data:text/javascript,import http from "node:http"; const { createServer } = http;' +
  "http.createServer = (...given) => Object.assign(createServer(...given), { keepAliveTimeout: 0 });";

/** Starts dynalite. `inMemory`: faster, and without data after a restart. */
export async function startDynalite({ inMemory = false } = {}) {
  const root = await installPlatform("dynamodb");
  const program = createRequire(new URL("package.json", root)).resolve("dynalite/cli.js");
  const urlAt = (port: number) => `http://127.0.0.1:${port}`;
  const { end, ...server } = await startServer({
    name: "dynalite",
    command: process.execPath,
    args: (port, folder) => [
      "--import",
      NO_IDLE_LIMIT,
      program,
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--createTableMs",
      "1",
      ...(inMemory ? [] : ["--path", folder]),
    ],
    // The health check of DynamoDB.
    answers: async (port) => (await fetch(urlAt(port))).ok,
  });
  return { ...server, url: urlAt(server.port), kill: () => end("SIGKILL") };
}

/** A `DynamoDB` of the AWS SDK. */
export type SdkClient = DynamoClient &
  DynamoTableClient & {
    destroy(): void;
    scan(input: {
      TableName: string;
      ExclusiveStartKey?: Record<string, unknown> | undefined;
    }): Promise<{ Items?: Record<string, unknown>[]; LastEvaluatedKey?: Record<string, unknown> }>;
  };

type SdkClass = new (config: Record<string, unknown>) => SdkClient;

/** The classes of the AWS SDK, from `test/platforms/dynamodb`. */
export async function loadSdk() {
  const root = await installPlatform("dynamodb");
  const client = loadFrom(root, "@aws-sdk/client-dynamodb") as {
    DynamoDB: SdkClass;
    DynamoDBClient: SdkClass;
  };
  const document = loadFrom(root, "@aws-sdk/lib-dynamodb") as {
    DynamoDBDocument: { from(client: SdkClient): unknown };
    DynamoDBDocumentClient: { from(client: SdkClient): unknown };
  };
  return { ...client, ...document };
}

/** The config of a client for a server of this machine. */
export function sdkConfig(endpoint: string) {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return { endpoint, region: "eu-central-1", credentials };
}

/** A client with the SDK's defaults. */
export async function openSdkClient(endpoint: string): Promise<SdkClient> {
  const { DynamoDB } = await loadSdk();
  return new DynamoDB(sdkConfig(endpoint));
}

/** The settings of a table for `createTable` of the SDK: dynalite has no TTL. */
export function tableInput(table: string): Parameters<DynamoTableClient["createTable"]>[0] {
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  };
}

/** Creates a table on dynalite and waits until it is active. */
export async function makeTable(client: SdkClient, table: string): Promise<void> {
  await client.createTable(tableInput(table));
  for (;;) {
    const { Table } = await client.describeTable({ TableName: table });
    if (Table?.TableStatus === "ACTIVE") return;
  }
}

const TABLE = "gateway_deliveries";

/** The dynalite of a run of the fault lab, with its data on disk. */
export async function openDynamodb(): Promise<StoreServer> {
  const server = await startDynalite();
  const client = await openSdkClient(server.url);
  await makeTable(client, TABLE);
  return crashingStore(server, server.kill, {
    async read() {
      const storedIds: string[] = [];
      let from: Record<string, unknown> | undefined;
      do {
        const page = await client.scan({ TableName: TABLE, ExclusiveStartKey: from });
        for (const { id } of page.Items ?? []) {
          const { S: key } = id as { S: string };
          storedIds.push(key.slice(key.indexOf(":") + 1));
        }
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      return { storedIds };
    },
    close() {
      client.destroy();
      return server.close();
    },
  });
}

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

  const front = {
    ...(await listenHttp(server)),
    /** The operations that have arrived, such as `PutItem`. */
    operations: [] as string[],
    /** Called with each operation. Default: no fault. */
    faultOf: (() => undefined) as (operation: string) => FrontFault | undefined,
    /** Whether a failed condition returns the item, as DynamoDB does and dynalite does not. */
    returnsItems: true,
  };
  return front;
}

interface DynamodbInput {
  readonly TableName: string;
  readonly Key?: Record<string, unknown>;
  readonly Item?: Record<string, unknown>;
  readonly TimeToLiveSpecification?: { readonly AttributeName: string };
}
