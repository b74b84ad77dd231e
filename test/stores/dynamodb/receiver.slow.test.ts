import { beforeEach, expect, it, onTestFinished } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { startDynalite, type DynaliteServer } from "../../support/dynamodb/dynalite-server.js";
import { makeTable, openSdkClient } from "../../support/dynamodb/dynamodb-clients.js";
import { startDynamodbFront, type DynamodbFront } from "../../support/dynamodb/dynamodb-front.js";
import { testTwoReceivers } from "../../support/stores/two-receivers.js";

const TABLE = "gateway_deliveries";
/** On a busy machine a claim takes longer than the default allows, most of all when the SDK tries again. */
const patient = { leaseMs: 120_000, dependencyTimeoutMs: 60_000 };

let server: DynaliteServer;
let front: DynamodbFront;

beforeEach(async () => {
  server = await startDynalite();
  onTestFinished(server.close);
  front = await startDynamodbFront(server.url);
  onTestFinished(front.close);
  const client = await openSdkClient(server.url);
  await makeTable(client, TABLE);
  client.destroy();
});

async function openStore(clockSkewMs?: number): Promise<DeliveryStore> {
  const client = await openSdkClient(front.url);
  onTestFinished(() => {
    client.destroy();
  });
  return dynamoStore({ client, clockSkewMs });
}

const { receiver, lastReport } = testTwoReceivers("table", openStore, patient);

it("a receiver takes over a delivery the margin after the lease of a process that is gone", async () => {
  const request = await delivery({ id: "left-behind" });
  const startedAt = Date.now();
  await (
    await openStore()
  ).claim("left-behind", "gone", {
    leaseMs: 1_000,
    retentionMs: 259_200_000,
  });
  const one = await receiver(() => undefined, { store: await openStore(1_000) });
  await expect
    .poll(async () => (await one.receive(request)).outcome, { interval: 50 })
    .toBe("handled");
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2_000);
  expect(lastReport()).toMatchObject({ outcome: "handled", takeover: true });
});

it("a receiver answers 503 after dependencyTimeoutMs while DynamoDB hangs, and releases the late claim", async () => {
  const runs: string[] = [];
  const one = await receiver(({ id }) => runs.push(id), { dependencyTimeoutMs: 300 });
  const request = await delivery({ id: "during" });
  const { promise, resolve } = deferred();
  front.faultOf = () => ({ hold: promise });
  const startedAt = performance.now();
  expect(await one.receive(request)).toMatchObject({ status: 503, outcome: "store_unavailable" });
  // The default is 5 s.
  expect(performance.now() - startedAt).toBeLessThan(4_500);
  front.faultOf = () => undefined;
  resolve();
  // The claim was granted after the answer. Its lease would be held for 30 s.
  await expect.poll(async () => (await one.receive(request)).outcome).toBe("handled");
  expect(runs).toEqual(["during"]);
  expect(lastReport()?.takeover).toBeUndefined();
});

it("a receiver answers 503 while DynamoDB throttles, and handles the redelivery afterwards", async () => {
  const runs: string[] = [];
  const one = await receiver(({ id }) => runs.push(id), patient);
  const request = await delivery({ id: "throttled" });
  front.faultOf = () => "throttle";
  expect(await one.receive(request)).toMatchObject({ status: 503, outcome: "store_unavailable" });
  expect(lastReport()?.error).toMatchObject({
    name: "ProvisionedThroughputExceededException",
  });
  expect(runs).toEqual([]);
  front.faultOf = () => undefined;
  expect(await one.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
});

it("a delivery handled while DynamoDB was away is completed once it is back", async () => {
  const one = await receiver(() => server.kill());
  const request = await delivery();
  expect(await one.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
  expect(await one.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(await one.receive(await delivery({ id: "other" }))).toMatchObject({ status: 503 });
  await server.start();
  const two = await receiver(() => expect.fail("run twice"));
  await expect.poll(async () => (await two.receive(request)).outcome).toBe("duplicate");
});
