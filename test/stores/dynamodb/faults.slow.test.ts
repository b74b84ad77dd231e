import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { deferred } from "../../support/deferred.js";
import { startDynalite, type DynaliteServer } from "../../support/dynamodb/dynalite-server.js";
import {
  makeTable,
  openSdkClient,
  type SdkClient,
} from "../../support/dynamodb/dynamodb-clients.js";
import {
  startDynamodbFront,
  type DynamodbFront,
  type FrontFault,
} from "../../support/dynamodb/dynamodb-front.js";

const TIMES = { leaseMs: 30_000, retentionMs: 259_200_000 };
const CLAIMED = { state: "claimed", takeover: false };
const TAKEN_OVER = { state: "claimed", takeover: true };
const DAY_S = 86_400;

let server: DynaliteServer;
let front: DynamodbFront;
let client: SdkClient;
let table: string;
let ms: number;
let store: DeliveryStore;

beforeAll(async () => {
  server = await startDynalite({ inMemory: true });
  front = await startDynamodbFront(server.url);
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
afterAll(async () => {
  client.destroy();
  await front.close();
  await server.close();
});

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
