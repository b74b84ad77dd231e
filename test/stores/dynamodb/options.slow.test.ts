import { beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import {
  createDynamoTable,
  dynamoStore,
  type DynamoStoreOptions,
} from "../../../src/stores/dynamodb/index.js";
import type { CreateTableOptions } from "../../../src/stores/dynamodb/create-table.js";
import { loadSdk, sdkConfig, type SdkClient } from "../../support/dynamodb/dynamodb-clients.js";

const config = sdkConfig("http://127.0.0.1:1");

let sdk: Awaited<ReturnType<typeof loadSdk>>;
let client: SdkClient;
beforeAll(async () => {
  sdk = await loadSdk();
  client = new sdk.DynamoDB(config);
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
