import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { OutcomeReport, WebhookReceiver } from "../../../src/index.js";
import { dynamoStore } from "../../../src/stores/dynamodb/index.js";
import { alarmReceiver, heldHandler, type AlarmHandler } from "../../support/alarm-receiver.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { startDynalite, type DynaliteServer } from "../../support/dynamodb/dynalite-server.js";
import { makeTable, openSdkClient } from "../../support/dynamodb/dynamodb-clients.js";
import { startDynamodbFront, type DynamodbFront } from "../../support/dynamodb/dynamodb-front.js";

const TABLE = "gateway_deliveries";
/** On a busy machine a claim takes longer than the default allows, most of all when the SDK tries again. */
const patient = { leaseMs: 120_000, dependencyTimeoutMs: 60_000 };

describe("receivers over one table of DynamoDB", () => {
  let server: DynaliteServer;
  let front: DynamodbFront;
  let reports: OutcomeReport[];

  beforeEach(async () => {
    reports = [];
    server = await startDynalite();
    onTestFinished(server.close);
    front = await startDynamodbFront(server.url);
    onTestFinished(front.close);
    const client = await openSdkClient(server.url);
    await makeTable(client, TABLE);
    client.destroy();
  });

  /** A receiver with a client of its own, as in another process. */
  async function receiver(
    handler: AlarmHandler,
    { clockSkewMs, ...options }: Record<string, unknown> = {},
  ): Promise<WebhookReceiver> {
    const client = await openSdkClient(front.url);
    onTestFinished(() => {
      client.destroy();
    });
    const store = dynamoStore({ client, clockSkewMs: clockSkewMs as number | undefined });
    const onOutcome = (report: OutcomeReport) => reports.push(report);
    return alarmReceiver(handler, { store, onOutcome, ...options });
  }

  it("two receivers over one table handle each delivery once, however many redeliveries come", async () => {
    const runs: string[] = [];
    const handler: AlarmHandler = async ({ id }) => {
      runs.push(id);
      await wait(5);
    };
    const receivers = [await receiver(handler, patient), await receiver(handler, patient)];
    const ids = Array.from({ length: 30 }, () => randomUUID());
    const requests = await Promise.all(ids.map((id) => delivery({ id })));
    const send = () => requests.flatMap((request) => receivers.map((one) => one.receive(request)));
    const answers = await Promise.all([...send(), ...send()]);
    expect(runs.sort()).toEqual(ids.sort());
    expect(answers.filter(({ outcome }) => outcome === "handled")).toHaveLength(ids.length);
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    for (const { status, outcome } of await Promise.all(send())) {
      expect([status, outcome]).toEqual([200, "duplicate"]);
    }
  });

  it("a second receiver answers a redelivery 409 while the first handles it, then 200", async () => {
    const { handler, start } = heldHandler();
    const [one, two] = [await receiver(handler), await receiver(() => expect.fail("run twice"))];
    const request = await delivery();
    const run = await start(one, request);
    const duplicate = await two.receive(request);
    expect(duplicate).toMatchObject({ status: 409, outcome: "in_flight" });
    expect(Number(duplicate.headers["retry-after"])).toBeGreaterThan(20);
    run.resolve();
    expect(await run.answer).toMatchObject({ status: 200, outcome: "handled" });
    expect(await two.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  });

  it("a second receiver can handle a delivery at once after the first has failed", async () => {
    const one = await receiver(() => Promise.reject(new Error("no")));
    const two = await receiver(() => undefined);
    const request = await delivery();
    expect(await one.receive(request)).toMatchObject({ status: 500, outcome: "handler_failed" });
    expect(await two.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
    expect(reports.at(-1)?.takeover).toBeUndefined();
  });

  it("a receiver takes over a delivery the margin after the lease of a process that is gone", async () => {
    const client = await openSdkClient(front.url);
    onTestFinished(() => {
      client.destroy();
    });
    const request = await delivery({ id: "left-behind" });
    const startedAt = Date.now();
    await dynamoStore({ client }).claim("left-behind", "gone", {
      ...{ leaseMs: 1_000, retentionMs: 259_200_000 },
    });
    const one = await receiver(() => undefined, { clockSkewMs: 1_000 });
    await expect
      .poll(async () => (await one.receive(request)).outcome, { interval: 50 })
      .toBe("handled");
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2_000);
    expect(reports.at(-1)).toMatchObject({ outcome: "handled", takeover: true });
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
    expect(reports.at(-1)?.takeover).toBeUndefined();
  });

  it("a receiver answers 503 while DynamoDB throttles, and handles the redelivery afterwards", async () => {
    const runs: string[] = [];
    const one = await receiver(({ id }) => runs.push(id), patient);
    const request = await delivery({ id: "throttled" });
    front.faultOf = () => "throttle";
    expect(await one.receive(request)).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(reports.at(-1)?.error).toMatchObject({
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
});
