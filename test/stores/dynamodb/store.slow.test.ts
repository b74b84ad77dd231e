import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ConfigurationError, type DeliveryStore } from "../../../src/index.js";
import type { CreateTableOptions } from "../../../src/stores/dynamodb/create-table.js";
import {
  createDynamoTable,
  dynamoStore,
  type DynamoStoreOptions,
} from "../../../src/stores/dynamodb/index.js";
import { deferred } from "../../support/deferred.js";
import { startDynalite } from "../../support/dynamodb/dynalite-server.js";
import {
  loadSdk,
  makeTable,
  openSdkClient,
  type SdkClient,
  sdkConfig,
  tableInput,
} from "../../support/dynamodb/dynamodb-clients.js";
import {
  type DynamodbFront,
  type FrontFault,
  startDynamodbFront,
} from "../../support/dynamodb/dynamodb-front.js";
import { startedForAll } from "../../support/started-for-all.js";

const TIMES = { leaseMs: 30_000, retentionMs: 259_200_000 };
const CLAIMED = { state: "claimed", takeover: false };
const TAKEN_OVER = { state: "claimed", takeover: true };
const DAY_S = 86_400;

const server = startedForAll(() => startDynalite({ inMemory: true }));
const started = startedForAll(() => startDynamodbFront(server().url));
let front: DynamodbFront;
let sdk: Awaited<ReturnType<typeof loadSdk>>;
let client: SdkClient;
let table: string;
let ms: number;
let store: DeliveryStore;

beforeAll(async () => {
  front = started();
  sdk = await loadSdk();
  client = await openSdkClient(front.url);
});
beforeEach(async () => {
  table = `t-${randomUUID()}`;
  ms = Date.now();
  await makeTable(client, table);
  store = dynamoStore({ client, table, now: () => ms });
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
const itemOf = async (key: string) => {
  const { Items = [] } = await client.scan({ TableName: table });
  return Items.find(({ id }) => (id as { S: string }).S === `1:${key}`);
};
const secondsFrom = (item: Record<string, unknown> | undefined) =>
  Number((item?.["expiresAt"] as { N: string }).N) - ms / 1000;

describe.each([
  ["with the item", true],
  ["without the item", false],
])("and a failed condition comes %s", (how, returnsItems) => {
  beforeEach(() => {
    front.returnsItems = returnsItems;
  });

  it.each<FrontFault & string>(["lose the answer", "fail after the write"])(
    `a claim that the SDK sends again after "%s" is claimed and no takeover (${how})`,
    async (fault) => {
      once(fault);
      expect(await store.claim("k", "a", TIMES)).toEqual(CLAIMED);
      expect(front.operations.filter((name) => name === "PutItem")).toHaveLength(2);
      expect(await store.claim("k", "b", TIMES)).toMatchObject({ state: "in_flight" });
      expect(await store.renew("k", "a", TIMES)).toBe(true);
    },
  );

  it(`a takeover whose answer is lost is still a takeover (${how})`, async () => {
    await store.claim("k", "a", TIMES);
    ms += 32_001;
    front.faultOf = (name) => {
      if (front.operations.filter((one) => one === "PutItem").length !== 3) return undefined;
      return name === "PutItem" ? "lose the answer" : undefined;
    };
    expect(await store.claim("k", "b", TIMES)).toEqual(TAKEN_OVER);
    expect(await store.renew("k", "a", TIMES)).toBe(false);
  });

  it(`a renewal, a completion and a release whose answers are lost have succeeded (${how})`, async () => {
    await store.claim("k", "a", TIMES);
    ms += 1_000;
    once("lose the answer");
    expect(await store.renew("k", "a", TIMES)).toBe(true);
    once("lose the answer");
    await store.release("k", "a");
    expect(await store.claim("k", "b", TIMES)).toEqual(CLAIMED);
    once("lose the answer");
    await store.complete("k", "b", TIMES);
    expect(await store.claim("k", "c", TIMES)).toEqual({ state: "completed" });
  });
});

it("each call rejects with the error of the SDK while DynamoDB throttles, and answers nothing wrong", async () => {
  await store.claim("held", "a", TIMES);
  front.faultOf = () => "throttle";
  const throttled = { name: "ProvisionedThroughputExceededException" };
  front.operations.length = 0;
  await expect(store.claim("k", "a", TIMES)).rejects.toMatchObject(throttled);
  // The attempts of the SDK. A throttled claim was not granted, so there is nothing to release.
  expect(front.operations.length).toBeGreaterThan(1);
  expect(new Set(front.operations)).toEqual(new Set(["PutItem"]));
  await expect(store.renew("held", "a", TIMES)).rejects.toMatchObject(throttled);
  await expect(store.complete("held", "a", TIMES)).rejects.toMatchObject(throttled);
  await expect(store.release("held", "a")).rejects.toMatchObject(throttled);
  front.faultOf = () => undefined;
  expect(await store.claim("k", "b", TIMES)).toEqual(CLAIMED);
  expect(await store.claim("held", "b", TIMES)).toMatchObject({ state: "in_flight" });
});

it("a claim whose answers are all lost rejects, and its lease can be released by its owner", async () => {
  front.faultOf = (name) => (name === "PutItem" ? "lose the answer" : undefined);
  await expect(store.claim("k", "a", TIMES)).rejects.toThrow();
  front.faultOf = () => undefined;
  expect(await store.claim("k", "b", TIMES)).toMatchObject({ state: "in_flight" });
  await store.release("k", "a");
  expect(await store.claim("k", "b", TIMES)).toEqual(CLAIMED);
});

it("a call without an answer is aborted two seconds after dependencyTimeoutMs", async () => {
  store.connectReceiver?.({
    warn: () => undefined,
    noteForgets: () => undefined,
    dependencyTimeoutMs: 100,
  });
  const { promise, resolve } = deferred();
  front.faultOf = (name) => (name === "PutItem" ? { hold: promise } : undefined);
  const startedAt = performance.now();
  await expect(store.claim("k", "a", TIMES)).rejects.toMatchObject({ name: "AbortError" });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThanOrEqual(2_050);
  expect(tookMs).toBeLessThan(10_000);
  resolve();
  front.faultOf = () => undefined;
});

it("TTL keeps a claim for its retention and a day, and a completion too", async () => {
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

it("another owner takes over a lease clockSkewMs after its end, and its own owner cannot renew it", async () => {
  await store.claim("k", "a", TIMES);
  ms += 30_000;
  expect(await store.renew("k", "a", TIMES)).toBe(false);
  expect(await store.claim("k", "b", TIMES)).toEqual({ state: "in_flight", retryAfterMs: 2_000 });
  ms += 2_000;
  expect(await store.claim("k", "b", TIMES)).toEqual(TAKEN_OVER);
  const strict = dynamoStore({ client, table, clockSkewMs: 0, now: () => ms });
  ms += 30_000;
  expect(await strict.claim("k", "c", TIMES)).toEqual(TAKEN_OVER);
});

it("a first claim, a completion and a release are one request each, and a duplicate is one too", async () => {
  await store.claim("k", "a", TIMES);
  await store.complete("k", "a", TIMES);
  await store.claim("k", "b", TIMES);
  await store.claim("failed", "a", TIMES);
  await store.release("failed", "a");
  expect(front.operations).toEqual(["PutItem", "PutItem", "PutItem", "PutItem", "DeleteItem"]);
});

it("an item that the store did not write is refused and left as it is", async () => {
  const Item = { id: { S: "1:k" }, heldBy: { N: "1" } };
  await (client as unknown as Putting).putItem({ TableName: table, Item });
  await expect(store.claim("k", "a", TIMES)).rejects.toMatchObject({ code: "unexpected_result" });
  await expect(store.claim("k", "a", TIMES)).rejects.toThrow("give the store a table of its own");
  expect(await itemOf("k")).toEqual(Item);
});

interface Putting {
  putItem(input: { TableName: string; Item: Record<string, unknown> }): Promise<unknown>;
}

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
  const direct = await openSdkClient(server().url);
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
