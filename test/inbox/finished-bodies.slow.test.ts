import { expect, it } from "vitest";
import { DiscardDelivery } from "../../src/index.js";
import { sampleAlarm, signedDelivery } from "../../kit/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeEachEngine } from "../support/inbox/inbox-engines.js";
import { inboxReceiver, settlesAt, watchWorker } from "../support/inbox/receiver-and-worker.js";

const COUNT = 1_000;

/** The personal data in the alarm of person `n`. Every value is unique. */
function valuesOf(n: number): string[] {
  const number = String(n).padStart(4, "0");
  return [`19${number}01-${number}`, `person${number}@example.test`, `Personne${number} Beispiel`];
}

function personalAlarm(n: number) {
  const [ssn = "", email = "", name = ""] = valuesOf(n);
  const payload = JSON.stringify({ ssn, email, name });
  const alarm = sampleAlarm({ account_id: n, text: `Found: ${name}, ${ssn}`, payload });
  return signedDelivery({ alarm, secret: TEST_SECRET });
}

describeEachEngine((engine) => {
  it("an engine keeps no personal data of 1 000 handled alarms, and still recognizes redeliveries", async () => {
    const queue = await engine().open("personal", { retryDelayMs: 1_000 });
    const deliveries = await Promise.all(Array.from({ length: COUNT }, (_, n) => personalAlarm(n)));
    const receiver = inboxReceiver(queue.enqueue);
    await Promise.all(deliveries.map((delivery) => receiver.receive(delivery)));
    const before = await engine().dump();
    expect(valuesOf(7).filter((value) => before.includes(value))).toEqual(valuesOf(7));

    let runs = 0;
    const failed = new Set<number>();
    const { stop } = watchWorker(
      queue,
      ({ account_id, text, payload }) => {
        runs += 1;
        if (account_id % 10 === 1) throw new DiscardDelivery({ reason: "not ours" });
        if (account_id % 10 > 2 || failed.has(account_id)) return;
        failed.add(account_id);
        // Careless handlers put personal data into their errors.
        throw Object.assign(new Error(`${text}: ${payload}`), { code: text });
      },
      { concurrency: 50 },
    );
    await settlesAt(() => queue.completed(), COUNT);
    const redeliveries = inboxReceiver(queue.enqueue);
    const answers = await Promise.all(deliveries.map((delivery) => redeliveries.receive(delivery)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await settlesAt(async () => (await queue.enqueue.waiting?.())?.oldestMs, 0);
    const values = Array.from({ length: COUNT }, (_, n) => valuesOf(n)).flat();
    let after: string | Buffer = "";
    // Before the worker stops: a redelivery that it has just fetched would go back into the queue.
    await settlesAt(async () => {
      after = await engine().dump();
      return values.filter((value) => after.includes(value));
    }, []);
    await stop();
    expect(runs).toBe(COUNT + failed.size);
    expect(after.includes(deliveries[7]?.headers["X-Webhook-Id"] ?? "no id")).toBe(true);
  });

  it("an engine keeps no personal data of a dead alarm that was replayed or discarded", async () => {
    const queue = await engine().open("personal-dead", { retryLimit: 0 });
    const receiver = inboxReceiver(queue.enqueue);
    for (const n of [1, 2]) await receiver.receive(await personalAlarm(COUNT + n));
    let isAway = true;
    let handled = 0;
    const { stop } = watchWorker(queue, ({ text }) => {
      if (isAway) throw new Error(text);
      handled += 1;
    });
    const list = () => queue.deadDeliveries.list();
    await settlesAt(async () => (await list()).length, 2);
    const [first, second] = (await list()).map(({ id }) => id);
    isAway = false;
    await queue.deadDeliveries.replay([first ?? ""]);
    await queue.deadDeliveries.discard([second ?? ""]);
    await settlesAt(() => handled, 1);
    await stop();
    const after = await engine().dump();
    const values = [1, 2].flatMap((n) => valuesOf(COUNT + n));
    expect(values.filter((value) => after.includes(value))).toEqual([]);
  });
});
