import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import type { CreateTableOptions } from "../../../src/stores/dynamodb/create-table.js";
import {
  createDynamoTable,
  dynamoStore,
  type DynamoStoreOptions,
} from "../../../src/stores/dynamodb/index.js";
import { startDynalite, type DynaliteServer } from "../../support/dynamodb/dynalite-server.js";
import {
  loadSdk,
  openSdkClient,
  sdkConfig,
  tableInput,
  type SdkClient,
} from "../../support/dynamodb/dynamodb-clients.js";
import { startDynamodbFront, type DynamodbFront } from "../../support/dynamodb/dynamodb-front.js";

let server: DynaliteServer;
let front: DynamodbFront;
let client: SdkClient;

beforeAll(async () => {
  server = await startDynalite({ inMemory: true });
  front = await startDynamodbFront(server.url);
  client = await openSdkClient(front.url);
});
afterAll(async () => {
  client.destroy();
  await front.close();
  await server.close();
});

const ttlOf = async (table: string) =>
  (await client.describeTimeToLive({ TableName: table })).TimeToLiveDescription;

it("createDynamoTable makes a table that the store can use at once, with on-demand billing and TTL", async () => {
  await createDynamoTable({ client });
  const { Table } = await client.describeTable({ TableName: "gateway_deliveries" });
  expect(Table).toMatchObject({
    TableStatus: "ACTIVE",
    BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  });
  expect(await ttlOf("gateway_deliveries")).toMatchObject({
    TimeToLiveStatus: "ENABLED",
    AttributeName: "expiresAt",
  });
  const times = { leaseMs: 1_000, retentionMs: 1_000 };
  expect(await dynamoStore({ client }).claim("k", "a", times)).toMatchObject({
    state: "claimed",
  });
});

it("createDynamoTable makes a table without TTL on a server that has none, such as dynalite", async () => {
  const direct = await openSdkClient(server.url);
  const table = `t-${randomUUID()}`;
  await createDynamoTable({ client: direct, table });
  await createDynamoTable({ client: direct, table });
  direct.destroy();
});

it("createDynamoTable changes nothing if it is called again or by several processes at once", async () => {
  const table = `t-${randomUUID()}`;
  await Promise.all([1, 2, 3].map(() => createDynamoTable({ client, table })));
  const store = dynamoStore({ client, table });
  const times = { leaseMs: 1_000, retentionMs: 100_000 };
  await store.complete("k", "a", times);
  front.operations.length = 0;
  await createDynamoTable({ client, table });
  expect(front.operations).not.toContain("UpdateTimeToLive");
  expect(await store.claim("k", "b", times)).toEqual({ state: "completed" });
});

it("createDynamoTable turns TTL on for a table that was made without it", async () => {
  const table = `t-${randomUUID()}`;
  await client.createTable(tableInput(table));
  await createDynamoTable({ client, table });
  expect(await ttlOf(table)).toMatchObject({ AttributeName: "expiresAt" });
});

it("createDynamoTable refuses a table with another key", async () => {
  const table = `t-${randomUUID()}`;
  const input = tableInput(table);
  await client.createTable({
    ...input,
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  });
  const creating = createDynamoTable({ client, table });
  await expect(creating).rejects.toThrow(ConfigurationError);
  await expect(creating).rejects.toThrow("its key is pk (S, HASH), not id (S, HASH)");
});

it("createDynamoTable refuses a table that uses another attribute for TTL", async () => {
  const table = `t-${randomUUID()}`;
  await client.createTable(tableInput(table));
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true } as const;
  await client.updateTimeToLive({ TableName: table, TimeToLiveSpecification });
  await expect(createDynamoTable({ client, table })).rejects.toThrow(
    "uses ttl for TTL, not expiresAt",
  );
});

it("createDynamoTable rejects with the error of the SDK if it has no right to create a table", async () => {
  const denied = Object.assign(new Error("no"), { name: "AccessDeniedException" });
  const powerless: SdkClient = Object.create(client, {
    createTable: { value: () => Promise.reject(denied) },
  }) as SdkClient;
  await expect(createDynamoTable({ client: powerless, table: "other" })).rejects.toBe(denied);
});

const config = sdkConfig("http://127.0.0.1:1");

let sdk: Awaited<ReturnType<typeof loadSdk>>;
beforeAll(async () => {
  sdk = await loadSdk();
});

it.each<[string, () => unknown]>([
  ["nothing", () => undefined],
  ["null", () => null],
  ["the name of a region", () => "eu-central-1"],
  ["an empty object", () => ({})],
  ["a DynamoDBClient without a method per operation", () => new sdk.DynamoDBClient(config)],
  ["a DynamoDBDocumentClient", () => sdk.DynamoDBDocumentClient.from(client)],
  ["a DynamoDBDocument", () => sdk.DynamoDBDocument.from(client)],
])(
  "dynamoStore and createDynamoTable refuse %s as their client and say what to write",
  async (_, make) => {
    const options = { client: make() } as DynamoStoreOptions & CreateTableOptions;
    const message = "Write new DynamoDB(config) in place of new DynamoDBClient(config)";
    expect(() => dynamoStore(options)).toThrow(ConfigurationError);
    expect(() => dynamoStore(options)).toThrow(message);
    await expect(createDynamoTable(options)).rejects.toThrow(message);
  },
);

it.each<[string, Record<string, unknown>, string]>([
  ["a misspelt option", { tableName: "x" }, "tableName is no option of dynamoStore"],
  ["a table of two letters", { table: "ab" }, "table must be a name of 3 to 255"],
  ["a table with a slash", { table: "a/bc" }, "table must be a name of 3 to 255"],
  ["a table that is no string", { table: 3 }, "table must be a name of 3 to 255"],
  ["a negative clock skew", { clockSkewMs: -1 }, "clockSkewMs must be a whole number from 0"],
  ["a clock skew of hours", { clockSkewMs: 60_001 }, "clockSkewMs must be a whole number from 0"],
  ["a clock that is no function", { now: 0 }, "now must be a function"],
])("dynamoStore refuses %s", (_, more, message) => {
  expect(() => dynamoStore({ client, ...more })).toThrow(ConfigurationError);
  expect(() => dynamoStore({ client, ...more })).toThrow(message);
});

it("dynamoStore and createDynamoTable refuse to be called without options", async () => {
  const none = undefined as unknown as DynamoStoreOptions & CreateTableOptions;
  expect(() => dynamoStore(none)).toThrow("dynamoStore takes an options object");
  await expect(createDynamoTable(none)).rejects.toThrow(
    "createDynamoTable takes an options object",
  );
});

it("dynamoStore accepts a name with every allowed character and the ARN of a table", () => {
  dynamoStore({ client, table: "a-Z_0.9" });
  dynamoStore({ client, table: "arn:aws:dynamodb:eu-central-1:123456789012:table/deliveries" });
});
