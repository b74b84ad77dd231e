// npx tsx examples/demo/lambda.ts, after npm run build
// Runs the two functions of examples/lambda-sqs.ts with fauxqs for SQS, dynalite for DynamoDB, and this program for the
// function URL and the event source. GATEWAY_WEBHOOK_SECRET and PORT as for the other examples.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { LambdaHandler } from "identity-gateway-webhooks/aws-lambda";
import { createDynamoTable } from "identity-gateway-webhooks/dynamodb";
import type { SqsHandler } from "identity-gateway-webhooks/sqs";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import type { SQS } from "@aws-sdk/client-sqs";
import { installServer } from "./install-server.js";

type SqsMessage = NonNullable<Awaited<ReturnType<SQS["receiveMessage"]>>["Messages"]>[number];

interface Fauxqs {
  createQueue(name: string, options: object): { queueUrl: string };
  stop(): Promise<void>;
}

/** Starts dynalite in its own process. Its data ends with it. `packages`: where it is installed. */
async function startDynalite(packages: URL) {
  const program = fileURLToPath(new URL("node_modules/dynalite/cli.js", packages));
  const args = [program, "--host", "127.0.0.1", "--port", "0", "--createTableMs", "1"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [line] = (await Promise.race([once(child.stdout, "data"), ended])) as [unknown];
  const [url] = /http:\S+/.exec(String(line)) ?? [];
  if (url === undefined) throw new Error("dynalite did not start");
  return {
    url,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

const packages = await installServer("sqs", "fauxqs and the AWS SDK");
const storePackages = await installServer("dynamodb", "dynalite and the AWS SDK");
const dynalite = await startDynalite(storePackages);
const emulator = new URL("node_modules/fauxqs/dist/app.js", packages);
const { startFauxqs, interceptLocalhostDns } = (await import(emulator.href)) as {
  readonly startFauxqs: (options: object) => Promise<Fauxqs>;
  readonly interceptLocalhostDns: () => void;
};
// Its URLs have a name below localhost, which not every system resolves.
interceptLocalhostDns();
const fauxqs = await startFauxqs({ port: 0, logger: false });
const { queueUrl } = fauxqs.createQueue("jobs", { attributes: { VisibilityTimeout: "60" } });
const { queueUrl: deadQueueUrl } = fauxqs.createQueue("dead", {});
Object.assign(process.env, {
  // The SDK would warn once that its later releases need a later Node.
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "demo",
  AWS_SECRET_ACCESS_KEY: "demo",
  AWS_ENDPOINT_URL_SQS: new URL(queueUrl).origin,
  AWS_ENDPOINT_URL_DYNAMODB: dynalite.url,
  QUEUE_URL: queueUrl,
  DEAD_QUEUE_URL: deadQueueUrl,
  GATEWAY_WEBHOOK_SECRET: process.env["GATEWAY_WEBHOOK_SECRET"] ?? TEST_SECRET,
});
const sdk = {
  ...(createRequire(packages)("@aws-sdk/client-sqs") as { SQS: typeof SQS }),
  ...(createRequire(storePackages)("@aws-sdk/client-dynamodb") as { DynamoDB: typeof DynamoDB }),
};
await createDynamoTable({ client: new sdk.DynamoDB({}) });

// One file, as it would be deployed.
const folder = mkdtempSync(path.join(tmpdir(), "lambda-sqs-"));
const bundle = path.join(folder, "functions.cjs");
await build({
  entryPoints: [fileURLToPath(new URL("../lambda-sqs.ts", import.meta.url))],
  bundle: true,
  format: "cjs",
  platform: "node",
  outfile: bundle,
  logLevel: "error",
  nodePaths: [packages, storePackages].map((at) => fileURLToPath(new URL("node_modules", at))),
  // Without the `paths` of tsconfig.json: the package as it is built.
  tsconfigRaw: "{}",
});
const { receive, work } = createRequire(import.meta.url)(bundle) as {
  receive: LambdaHandler;
  work: SqsHandler;
};
rmSync(folder, { recursive: true });

const context = { getRemainingTimeInMillis: () => 30_000 };
const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    if (request.url !== "/webhooks/gateway") return void response.writeHead(404).end();
    const headers = Object.entries(request.headersDistinct);
    const event = {
      headers: Object.fromEntries(headers.map(([name, values = []]) => [name, values.join(",")])),
      requestContext: { http: { method: String(request.method) } },
      body: (await buffer(request)).toString("base64"),
      isBase64Encoded: true,
    };
    const result = await receive(event, context);
    response.writeHead(result.statusCode, result.headers).end(result.body);
  };
  void answer().catch(() => response.destroy());
});

/** The event source: hands over batches, and deletes what has not failed. */
async function poll(client: SQS, stopping: AbortSignal): Promise<void> {
  const options = { abortSignal: stopping };
  const recordOf = ({ MessageAttributes = {}, ...message }: SqsMessage) => ({
    messageId: message.MessageId ?? "",
    receiptHandle: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, { StringValue }]) => [
        name,
        { stringValue: StringValue },
      ]),
    ),
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:jobs",
  });
  while (!stopping.aborted) {
    const { Messages = [] } = await client.receiveMessage(
      {
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 20,
        VisibilityTimeout: 60,
        AttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      },
      options,
    );
    const Records = Messages.map(recordOf);
    const { batchItemFailures } = await work({ Records }, context);
    const failed = batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
    for (const { messageId, receiptHandle } of Records) {
      if (failed.includes(messageId)) continue;
      await client.deleteMessage({ QueueUrl: queueUrl, ReceiptHandle: receiptHandle }, options);
    }
  }
}

const stopping = new AbortController();
const polling = poll(new sdk.SQS({}), stopping.signal).catch((error: unknown) => {
  if (!stopping.signal.aborted) throw error;
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://127.0.0.1:${port}/webhooks/gateway`);
});

async function stop(): Promise<void> {
  server.close();
  server.closeIdleConnections();
  stopping.abort();
  await polling;
  await Promise.all([fauxqs.stop(), dynalite.stop()]);
}
process.once("SIGTERM", () => void stop());
process.once("SIGINT", () => void stop());
