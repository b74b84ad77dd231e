import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { installPlatform } from "../support/platform-packages.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const DYNAMODB = `
import { DynamoDB, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument, DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { createDynamoTable, dynamoStore } from "identity-gateway-webhooks/dynamodb";

const client = new DynamoDB({ region: "eu-central-1" });
dynamoStore({ client });
dynamoStore({ client: new DynamoDB({}), table: "deliveries", clockSkewMs: 500, now: () => Date.now() });
await createDynamoTable({ client, table: "deliveries" });
// @ts-expect-error: it has no method for each operation
dynamoStore({ client: new DynamoDBClient({}) });
// @ts-expect-error: it has no method for each operation
await createDynamoTable({ client: new DynamoDBClient({}) });
// @ts-expect-error: the DocumentClient has values of its own
dynamoStore({ client: DynamoDBDocument.from(client) });
// @ts-expect-error: the DocumentClient has values of its own
dynamoStore({ client: DynamoDBDocumentClient.from(client) });
// @ts-expect-error: a misspelt option
dynamoStore({ client, tableName: "deliveries" });
// @ts-expect-error: the client is required
dynamoStore({});
`;

const UPSTASH = `
import { Redis } from "@upstash/redis";
import { redisStore } from "identity-gateway-webhooks/redis";

const client = new Redis({ url: "https://example.upstash.io", token: "t" });
redisStore({ client });
redisStore({ client: Redis.fromEnv(), keyPrefix: "app:" });
// @ts-expect-error: a pipeline returns no promises
redisStore({ client: client.pipeline() });
// @ts-expect-error: a transaction returns no promises
redisStore({ client: client.multi() });
`;

const SQS_TYPES = `
import { SQS, SQSClient } from "@aws-sdk/client-sqs";
import { sqsHandler, sqsQueue } from "identity-gateway-webhooks/sqs";

const [queueUrl, deadQueueUrl] = ["https://sqs.eu-central-1.amazonaws.com/1/q", "https://sqs.eu-central-1.amazonaws.com/1/d"];
const client = new SQS({});
const driver = sqsQueue({ client, queueUrl, deadQueueUrl });
const { put } = sqsQueue({ client, queueUrl, maxMessageBytes: 1_048_576 });
// @ts-expect-error: it has no method for each operation
sqsQueue({ client: new SQSClient({}), queueUrl });
// @ts-expect-error: without deadQueueUrl it receives nothing
sqsQueue({ client, queueUrl }).receive;
// @ts-expect-error: store and handlers are required
sqsHandler({ driver });
void put;
`;

it.each([
  [
    "dynamoStore and createDynamoTable accept the clients of the AWS SDK that fit, and no others",
    "dynamodb",
    DYNAMODB,
  ],
  ["sqsQueue accepts the SQS of the AWS SDK, and no SQSClient", "sqs", SQS_TYPES],
  ["redisStore accepts the client of @upstash/redis, and no pipeline of it", "upstash", UPSTASH],
])("%s", async (_, platform, code) => {
  const modules = join(fileURLToPath(await installPlatform(platform)), "node_modules");
  symlinkSync(modules, folder.at("node_modules"), "dir");
  folder.write("package.json", '{"type":"module"}');
  folder.write("uses.ts", code);
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2023", "DOM"],
    module: "nodenext",
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    paths: {
      "#crypto": [join(ROOT, "src/signature/crypto/node.ts")],
      "identity-gateway-webhooks/*": ["stores", "inbox"].map((room) =>
        join(ROOT, `src/${room}/*/index.ts`),
      ),
    },
  };
  folder.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["uses.ts"] }));
  const argv = [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder.at()];
  const { stdout } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  expect(stdout).toBe("");
});
