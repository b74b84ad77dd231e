import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import type { DeliveryStore, OutcomeReport, WebhookReceiver } from "../../../src/index.js";
import { alarmReceiver, heldHandler, type AlarmHandler } from "../alarm-receiver.js";
import { delivery } from "../deliveries.js";

/** What the receivers of a test share. */
export interface SharingReceivers {
  /** A receiver with a client of its own, as in another process. */
  readonly receiver: (handler: AlarmHandler, options?: object) => Promise<WebhookReceiver>;
  /** The newest report of a receiver of this test. */
  readonly lastReport: () => OutcomeReport | undefined;
}

/**
 * Tests of two receivers over one store, and what tests of the same `describe` need for more of them. `options` are
 * those of two receivers under load.
 */
export function testTwoReceivers(
  store: string,
  openStore: () => Promise<DeliveryStore>,
  options: object = {},
): SharingReceivers {
  let reports: OutcomeReport[] = [];
  beforeEach(() => {
    reports = [];
  });

  const receiver: SharingReceivers["receiver"] = async (handler, options) =>
    alarmReceiver(handler, {
      store: await openStore(),
      onOutcome: (report) => reports.push(report),
      ...options,
    });

  it(`two receivers over one ${store} handle each delivery once, however many redeliveries come`, async () => {
    const runs: string[] = [];
    const handler: AlarmHandler = async ({ id }) => {
      runs.push(id);
      await wait(5);
    };
    const receivers = [await receiver(handler, options), await receiver(handler, options)];
    const ids = Array.from({ length: 50 }, () => randomUUID());
    const requests = await Promise.all(ids.map((id) => delivery({ id })));
    const send = () => requests.flatMap((request) => receivers.map((one) => one.receive(request)));
    const answers = await Promise.all([...send(), ...send()]);
    expect(runs.sort()).toEqual(ids.sort());
    expect(answers.filter(({ outcome }) => outcome === "handled")).toHaveLength(ids.length);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
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

  return { receiver, lastReport: () => reports.at(-1) };
}
