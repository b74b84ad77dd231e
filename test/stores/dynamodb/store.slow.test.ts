import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { StoreVerbs } from "../../../kit/store-contract/store-verbs.js";
import { ConfigurationError, type DeliveryStore } from "../../../src/index.js";
import type { CreateTableOptions } from "../../../src/stores/dynamodb/create-table.js";
import {
  createDynamoTable,
  dynamoStore,
  type DynamoStoreOptions,
} from "../../../src/stores/dynamodb/index.js";
import { compileUses } from "../../support/compile-uses.js";
import { deferred } from "../../support/deferred.js";
import {
  type DynamodbFront,
  type FrontFault,
  loadSdk,
  makeTable,
  openSdkClient,
  type SdkClient,
  sdkConfig,
  startDynalite,
  startDynamodbFront,
  tableInput,
} from "../../support/dynamodb/dynamodb.js";
import { startedForAll } from "../../support/started-for-all.js";
import { verbsOf } from "../../support/stores/store-cases.js";

const TIMES = { leaseMs: 30_000, retentionMs: 259_200_000 };
const DAY_S = 86_400;

const server = startedForAll(() => startDynalite({ inMemory: true }));
const started = startedForAll(() => startDynamodbFront(server().url));
let front: DynamodbFront;
let sdk: Awaited<ReturnType<typeof loadSdk>>;
let client: SdkClient;
let table: string;
let ms: number;
let store: DeliveryStore;
let calls: StoreVerbs;

beforeAll(async () => {
  front = started();
  sdk = await loadSdk();
  client = await openSdkClient(front.url);
});
beforeEach(async () => {
  table = newTable();
  ms = Date.now();
  await makeTable(client, table);
  store = dynamoStore({ client, table, now: () => ms });
  calls = verbsOf(store);
  front.operations.length = 0;
});
afterEach(() => {
  front.faultOf = () => undefined;
  front.returnsItems = true;
});
afterAll(() => client.destroy());

/** Gives the next request a fault, and every later one none. */
const once = (fault: FrontFault) => {
  front.faultOf = () => {
    front.faultOf = () => undefined;
    return fault;
  };
};
const newTable = () => `t-${randomUUID()}`;
const itemOf = async (key: string) => {
  const { Items = [] } = await client.scan({ TableName: table });
  return Items.find(({ id }) => (id as { S: string }).S === `1:${key}`);
};
const secondsFrom = (item: Record<string, unknown> | undefined) =>
  Number((item?.["expiresAt"] as { N: string } | undefined)?.N) - ms / 1000;

describe.each([
  ["with the item", true],
  ["without the item", false],
])("and a failed condition comes %s", (how, returnsItems) => {
  beforeEach(() => {
    front.returnsItems = returnsItems;
  });

  it.each<FrontFault & string>(["lose the answer", "fail after the write"])(
    `a claim that the SDK repeats after "%s" is no takeover (${how})`,
    async (fault) => {
      once(fault);
      await calls.claimed("k", "a");
      expect(front.operations.filter((name) => name === "PutItem")).toHaveLength(2);
      await calls.inFlight("k", "b");
      await calls.renewed("k", "a", true);
    },
  );

  it(`a takeover whose answer is lost is still a takeover (${how})`, async () => {
    await calls.leased("k", "a");
    ms += 3_001;
    front.faultOf = (name) => {
      if (front.operations.filter((one) => one === "PutItem").length !== 3) return undefined;
      return name === "PutItem" ? "lose the answer" : undefined;
    };
    await calls.claimed("k", "b", true);
    await calls.renewed("k", "a", false);
  });

  it(`a renewal, a completion and a release succeed with a lost answer (${how})`, async () => {
    await calls.claimed("k", "a");
    ms += 1_000;
    once("lose the answer");
    await calls.renewed("k", "a", true);
    once("lose the answer");
    await calls.release("k", "a");
    await calls.claimed("k", "b");
    once("lose the answer");
    await calls.complete("k", "b");
    await calls.completed("k", "c");
  });
});

it("each call rejects with the SDK's error while DynamoDB throttles", async () => {
  await calls.claimed("held", "a");
  front.faultOf = () => "throttle";
  const throttled = { name: "ProvisionedThroughputExceededException" };
  front.operations.length = 0;
  await expect(calls.claim("k", "a")).rejects.toMatchObject(throttled);
  // The attempts of the SDK. A throttled claim was not granted, so there is nothing to release.
  expect(front.operations.length).toBeGreaterThan(1);
  expect(new Set(front.operations)).toEqual(new Set(["PutItem"]));
  await expect(calls.renewed("held", "a", true)).rejects.toMatchObject(throttled);
  await expect(calls.complete("held", "a")).rejects.toMatchObject(throttled);
  await expect(calls.release("held", "a")).rejects.toMatchObject(throttled);
  front.faultOf = () => undefined;
  await calls.claimed("k", "b");
  await calls.inFlight("held", "b");
});

it("a claim without any answer rejects, and its owner can release it", async () => {
  front.faultOf = (name) => (name === "PutItem" ? "lose the answer" : undefined);
  await expect(calls.claim("k", "a")).rejects.toThrow();
  front.faultOf = () => undefined;
  await calls.inFlight("k", "b");
  await calls.release("k", "a");
  await calls.claimed("k", "b");
});

it("a call without an answer ends two seconds after dependencyTimeoutMs", async () => {
  store.connectReceiver?.({
    warn: () => undefined,
    noteForgets: () => undefined,
    dependencyTimeoutMs: 100,
  });
  const { promise, resolve } = deferred();
  front.faultOf = (name) => (name === "PutItem" ? { hold: promise } : undefined);
  const startedAt = performance.now();
  await expect(calls.claim("k", "a")).rejects.toMatchObject({ name: "AbortError" });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThanOrEqual(2_050);
  expect(tookMs).toBeLessThan(10_000);
  resolve();
  front.faultOf = () => undefined;
});

it("TTL keeps a claim and a completion a day beyond the retention", async () => {
  await store.claim("k", "a", TIMES);
  const claimedS = (TIMES.leaseMs + TIMES.retentionMs) / 1000 + DAY_S;
  expect(secondsFrom(await itemOf("k"))).toBeCloseTo(claimedS, -1);
  for (let renewals = 0; renewals < 10; renewals++) {
    ms += 20_000;
    await store.renew("k", "a", TIMES);
  }
  expect(secondsFrom(await itemOf("k"))).toBeGreaterThanOrEqual(claimedS);
  await store.complete("k", "a", TIMES);
  const completedS = TIMES.retentionMs / 1000 + DAY_S;
  expect(secondsFrom(await itemOf("k"))).toBeCloseTo(completedS, -1);
  await store.complete("unclaimed", "a", TIMES);
  expect(Object.keys((await itemOf("unclaimed")) ?? {}).sort()).toEqual([
    "completedUntil",
    "expiresAt",
    "id",
  ]);
});

it("a lease can be taken over clockSkewMs after its end", async () => {
  await calls.leased("k", "a");
  ms += 1_000;
  await calls.renewed("k", "a", false);
  await calls.inFlight("k", "b", 2_000, 2_000);
  ms += 2_000;
  await calls.leased("k", "b", true);
  ms += 1_000;
  const strict = dynamoStore({ client, table, clockSkewMs: 0, now: () => ms });
  await verbsOf(strict).claimed("k", "c", true);
});

it("a claim, a completion, a release and a duplicate are one request each", async () => {
  await calls.claimed("k", "a");
  await calls.complete("k", "a");
  await calls.completed("k", "b");
  await calls.claimed("failed", "a");
  await calls.release("failed", "a");
  expect(front.operations).toEqual(["PutItem", "PutItem", "PutItem", "PutItem", "DeleteItem"]);
});

it("an item that the store did not write is refused and left", async () => {
  const Item = { id: { S: "1:k" }, heldBy: { N: "1" } };
  await (client as unknown as Putting).putItem({ TableName: table, Item });
  const refused = expect(calls.claim("k", "a")).rejects;
  await refused.toMatchObject({ code: "unexpected_result" });
  await refused.toThrow("give the store a table of its own");
  expect(await itemOf("k")).toEqual(Item);
});

interface Putting {
  putItem(input: { TableName: string; Item: Record<string, unknown> }): Promise<unknown>;
}

const ttlOf = async (table: string) =>
  (await client.describeTimeToLive({ TableName: table })).TimeToLiveDescription;

it("createDynamoTable makes a table with on-demand billing and TTL", async () => {
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
  await verbsOf(dynamoStore({ client })).claimed("k", "a");
});

it("createDynamoTable makes a table without TTL on a server without it", async () => {
  const direct = await openSdkClient(server().url);
  const table = newTable();
  await createDynamoTable({ client: direct, table });
  await createDynamoTable({ client: direct, table });
  direct.destroy();
});

it("createDynamoTable changes nothing when called again or at once", async () => {
  const table = newTable();
  await Promise.all([1, 2, 3].map(() => createDynamoTable({ client, table })));
  const { complete, completed } = verbsOf(dynamoStore({ client, table }));
  await complete("k", "a");
  front.operations.length = 0;
  await createDynamoTable({ client, table });
  expect(front.operations).not.toContain("UpdateTimeToLive");
  await completed("k", "b");
});

it("createDynamoTable turns TTL on for an older table", async () => {
  const table = newTable();
  await client.createTable(tableInput(table));
  await createDynamoTable({ client, table });
  expect(await ttlOf(table)).toMatchObject({ AttributeName: "expiresAt" });
});

it("createDynamoTable refuses a table with another key", async () => {
  const table = newTable();
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

it("createDynamoTable refuses a table with TTL by another attribute", async () => {
  const table = newTable();
  await client.createTable(tableInput(table));
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true } as const;
  await client.updateTimeToLive({ TableName: table, TimeToLiveSpecification });
  await expect(createDynamoTable({ client, table })).rejects.toThrow(
    "uses ttl for TTL, not expiresAt",
  );
});

it("createDynamoTable rejects with the SDK's error without the right", async () => {
  const denied = Object.assign(new Error("no"), { name: "AccessDeniedException" });
  const powerless: SdkClient = Object.create(client, {
    createTable: { value: () => Promise.reject(denied) },
  }) as SdkClient;
  await expect(createDynamoTable({ client: powerless, table: "other" })).rejects.toBe(denied);
});

const config = sdkConfig("http://127.0.0.1:1");

it.each<[string, () => unknown]>([
  ["the name of a region", () => "eu-central-1"],
  ["an empty object", () => ({})],
  ["a DynamoDBClient without a method per operation", () => new sdk.DynamoDBClient(config)],
  ["a DynamoDBDocumentClient", () => sdk.DynamoDBDocumentClient.from(client)],
  ["a DynamoDBDocument", () => sdk.DynamoDBDocument.from(client)],
])("dynamoStore and createDynamoTable refuse %s as their client", async (_, make) => {
  const options = { client: make() } as DynamoStoreOptions & CreateTableOptions;
  const message = "Write new DynamoDB(config) in place of new DynamoDBClient(config)";
  expect(() => dynamoStore(options)).toThrow(ConfigurationError);
  expect(() => dynamoStore(options)).toThrow(message);
  await expect(createDynamoTable(options)).rejects.toThrow(message);
});

it.each<[object, string]>([
  [{ table: "ab" }, "table must be a name of 3 to 255"],
  [{ table: "a/bc" }, "table must be a name of 3 to 255"],
  [{ table: 3 }, "table must be a name of 3 to 255"],
  [{ clockSkewMs: -1 }, "clockSkewMs must be a whole number from 0"],
  [{ clockSkewMs: 60_001 }, "clockSkewMs must be a whole number from 0"],
  [{ now: 0 }, "now must be a function"],
])("dynamoStore refuses %o: %s", (more, message) => {
  expect(() => dynamoStore({ client, ...more })).toThrow(ConfigurationError);
  expect(() => dynamoStore({ client, ...more })).toThrow(message);
});

it("createDynamoTable refuses to be called without options", async () => {
  const message = "createDynamoTable takes an options object";
  await expect(createDynamoTable(undefined as never)).rejects.toThrow(message);
});

it("dynamoStore accepts each allowed character and the ARN of a table", () => {
  dynamoStore({ client, table: "a-Z_0.9" });
  dynamoStore({ client, table: "arn:aws:dynamodb:eu-central-1:123456789012:table/deliveries" });
});

it("dynamoStore and createDynamoTable accept the clients of the AWS SDK that fit, and no others", async () => {
  const uses = `
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
  expect(await compileUses("dynamodb", uses)).toBe("");
});
