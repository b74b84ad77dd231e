import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import {
  queueDriverContract,
  sampleAlarm,
  signedDelivery,
  type QueueUnderTest,
} from "../../../kit/index.js";
import { DiscardDelivery } from "../../../src/index.js";
import type { DeadDeliveries } from "../../../src/inbox/dead-deliveries.js";
import type { QueueDriver } from "../../../src/inbox/index.js";
import type { MaybePromise } from "../../../src/common/promises.js";
import { deferred } from "../deferred.js";
import { TEST_SECRET } from "../deliveries.js";
import {
  alarmDelivery,
  alarmJob,
  inboxReceiver,
  settlesAt,
  watchWorker,
  failingWorker,
} from "./receiver-and-worker.js";

/** An empty queue on its real engine, made for one case. */
interface EngineQueue extends QueueUnderTest {
  readonly driver: QueueDriver<unknown> & Partial<DeadDeliveries>;
  /** Everything that the engine has stored, or its messages alone. */
  readonly dump?: () => Promise<Buffer>;
}

/** What a queue can do that not every one can. */
type Ability = "lists dead jobs" | "shows its messages" | "shows what it has stored";

/** A queue with all abilities. A case that needs none of them does not use them. */
interface AbleQueue {
  readonly driver: QueueDriver<unknown> & DeadDeliveries;
  readonly dump: () => Promise<Buffer>;
}

type Case = (made: AbleQueue) => Promise<void>;

/** What inbox and worker do together on every queue: a case is written here once. */
const CASES: Readonly<Record<string, Case>> = {
  async "each of 100 deliveries is handled once, however often it is sent"({ driver }) {
    const handled: number[] = [];
    const { stop } = watchWorker(driver, (alarm) => handled.push(alarm.account_id));
    const deliveries = await Promise.all(Array.from({ length: 100 }, (_, n) => alarmDelivery(n)));
    // Two receivers, each with its own memory store, like two processes.
    const receivers = [inboxReceiver(driver), inboxReceiver(driver)];
    const answers = await Promise.all(
      receivers.flatMap((receiver) => deliveries.map((delivery) => receiver.receive(delivery))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await settlesAt(() => handled.length, 100);
    const late = inboxReceiver(driver);
    for (const delivery of deliveries.slice(0, 20)) await late.receive(delivery);
    await settlesAt(async () => (await driver.waiting?.())?.oldestMs ?? 0, 0);
    await stop();
    expect(handled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  },

  async "odd ids and bytes that are no text reach the handler unchanged"({ driver }) {
    const seen: [string, number[]][] = [];
    const ids = ["123", "wait", "meta", "A.b_c-", randomUUID().toUpperCase()];
    const job = { version: 1, timestamp: 1, type: "new_alarm", encoding: "base64" } as const;
    for (const id of [...ids, ...ids]) await driver.put({ ...job, id, body: "/wD+" }, { id });
    const { stop } = watchWorker(driver, undefined, {
      handlers: { unrecognized: (_, { id, rawBody }) => seen.push([id, [...rawBody]]) },
    });
    await settlesAt(() => seen.toSorted(), ids.map((id) => [id, [0xff, 0x00, 0xfe]]).toSorted());
    await stop();
  },

  async "a worker of 30 jobs at once makes Node warn of no leak"({ driver }) {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on("warning", onWarning);
    const end = deferred();
    let running = 0;
    // Makes the queue.
    await driver.waiting?.();
    const { stop } = watchWorker(
      driver,
      async () => {
        running += 1;
        await end.promise;
        running -= 1;
      },
      { concurrency: 30 },
    );
    for (let n = 0; n < 30; n += 1) await driver.put(await alarmJob(`alarm-${String(n)}`), {});
    await settlesAt(() => running, 30);
    end.resolve();
    await settlesAt(() => running, 0);
    await stop();
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  },
};

const DEAD_CASES: Readonly<Record<string, Case>> = {
  async "jobs that fail for good are reported once, listed, and replayed or discarded"({ driver }) {
    const receiver = inboxReceiver(driver);
    const ids = [randomUUID(), "1", "wait"];
    for (const id of ids) await receiver.receive(await alarmDelivery(1, id));
    let isAway = true;
    const handled: string[] = [];
    const { reports, lines, stop } = watchWorker(
      driver,
      (_, { id, takeover }) => {
        // A failed run has a result, so the next run is no takeover.
        expect(takeover).toBe(false);
        if (isAway) throw new Error("the CRM is \0 \ud800 away");
        handled.push(id);
      },
      { retryLimit: 1, retryDelayMs: 1_000 },
    );
    const dead = () => reports.filter(({ outcome }) => outcome === "dead");
    await settlesAt(() => dead().length, 3);
    expect(
      dead()
        .map(({ id, attempt }) => `${id} ${String(attempt)}`)
        .toSorted(),
    ).toEqual(ids.map((id) => `${id} 2`).toSorted());
    expect(reports).toHaveLength(6);
    for (const { waitedMs } of dead()) expect(waitedMs).toBeGreaterThanOrEqual(900);
    const last = lines.filter((line) => line.includes("that was the last of 2 attempts"));
    expect(last.some((line) => line.includes(`jobs replay ${ids[0] ?? ""} `))).toBe(true);
    expect(lines).toHaveLength(6);

    await settlesAt(async () => (await driver.waiting?.())?.dead, 3);
    const pages = [await driver.list({ limit: 2 }), await driver.list({ limit: 2, offset: 2 })];
    expect(pages.map((page) => page.length)).toEqual([2, 1]);
    const listed = pages.flat();
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const { type, attempts, error, failedAt } of listed) {
      expect([type, attempts]).toEqual(["new_alarm", 2]);
      expect(error).toMatch(/^Error: the CRM is/);
      expect(Math.abs(Date.now() - Number(failedAt))).toBeLessThan(30_000);
    }
    const [first = "", ...others] = ids;
    const unknown = ["unknown", "*", ">", "%"];
    const discarded = await driver.discard([first, ...unknown]);
    expect(discarded).toEqual({ discarded: [first], notFound: unknown });
    isAway = false;
    expect((await driver.replay("all")).replayed.toSorted()).toEqual(others.toSorted());
    await settlesAt(() => handled.toSorted(), others.toSorted());
    await stop();
    expect(reports.slice(6).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["handled", 1],
      ["handled", 1],
    ]);
    expect(await driver.list()).toEqual([]);
  },
};

const MESSAGE_CASES: Readonly<Record<string, Case>> = {
  async "an engine keeps nothing of a forgotten account"({ driver, dump }) {
    const [forgotten, other] = [7, 8];
    const receiver = inboxReceiver(driver);
    for (const n of [forgotten, other, forgotten]) {
      await receiver.receive(await personalAlarm(n, valuesOf(n)));
    }
    const failing = failingWorker(driver);
    await settlesAt(() => failing.reports.filter(({ outcome }) => outcome === "dead").length, 3);
    await failing.stop();
    await settlesAt(async () => (await driver.waiting?.())?.dead, 3);
    const values = [...valuesOf(forgotten), ...valuesOf(other)];
    const kept = async () => {
      const stored = await dump();
      return values.filter((value) => stored.includes(value));
    };
    expect(await kept()).toEqual(values);
    expect((await driver.discard({ accountId: forgotten })).discarded).toHaveLength(2);
    await settlesAt(kept, valuesOf(other));
    await driver.replay("all");
    const handled: number[] = [];
    const { stop } = watchWorker(driver, ({ account_id }) => handled.push(account_id));
    await settlesAt(() => handled, [other]);
    await settlesAt(kept, []);
    await stop();
  },
};

const STORED_CASES: Readonly<Record<string, Case>> = {
  async "an engine keeps no personal data of jobs that have ended"({ driver, dump }) {
    const COUNT = 500;
    const values = Array.from({ length: COUNT }, (_, n) => valuesOf(n));
    const leftOf = async (some: readonly string[][]): Promise<readonly string[]> => {
      const stored = await dump();
      return some.flat().filter((value) => stored.includes(value));
    };
    const deliveries = await Promise.all(values.map((one, n) => personalAlarm(n, one)));
    const receiver = inboxReceiver(driver);
    await Promise.all(deliveries.map((delivery) => receiver.receive(delivery)));
    expect(await leftOf(values.slice(7, 8))).toEqual(values[7]);

    const failed = new Set<number>();
    let isAway = true;
    const { reports, stop } = watchWorker(
      driver,
      ({ account_id: n, text, payload }) => {
        if (n % 10 === 1) throw new DiscardDelivery({ reason: "not ours" });
        const isFirst = n % 10 === 2 && !failed.has(n);
        if (!isFirst && !(isAway && n % 100 === 0)) return;
        failed.add(n);
        // Careless handlers put personal data into their errors.
        throw Object.assign(new Error(`${text}: ${payload}`), { code: text });
      },
      { concurrency: 50, retryLimit: 1, retryDelayMs: 1_000 },
    );
    const ended = () => reports.filter(({ outcome }) => outcome !== "handler_failed").length;
    await settlesAt(ended, COUNT);
    const dead = (await driver.list()).map(({ id }) => id);
    expect(dead).toHaveLength(COUNT / 100);
    isAway = false;
    await driver.discard(dead.slice(3));
    await driver.replay("all");
    await settlesAt(ended, COUNT + 3);
    await settlesAt(() => leftOf(values), []);
    await stop();
  },
};

/** Runs the contract of drivers on a queue, and the cases of inbox and worker for which it has the abilities. */
export function keepsContract(
  name: string,
  open: (holdMs: number) => MaybePromise<EngineQueue>,
  abilities: readonly Ability[],
  {
    isConcurrent = false,
    holdMs = 2_000,
  }: { readonly isConcurrent?: boolean; readonly holdMs?: number } = {},
): void {
  const contract = queueDriverContract(open, { holdMs });
  (isConcurrent ? it.concurrent : it).each(contract.map((one) => [one.title, one] as const))(
    `${name} keeps the contract: %s`,
    async (_, { run }) => {
      await run();
    },
  );

  const own = Object.entries({
    ...CASES,
    ...(abilities.includes("lists dead jobs") ? DEAD_CASES : {}),
    ...(abilities.some((ability) => ability.startsWith("shows")) ? MESSAGE_CASES : {}),
    ...(abilities.includes("shows what it has stored") ? STORED_CASES : {}),
  });
  it.each(own)(`inbox and worker on ${name}: %s`, async (_, check) => {
    const made = await open(holdMs);
    try {
      await check(made as AbleQueue);
    } finally {
      await made.close?.();
    }
  });
}

/** The personal data in the alarm of person `n`. Every value is unique. */
function valuesOf(n: number): string[] {
  const digits = String(n).padStart(6, "0");
  return [`19${digits}-${digits}`, `person${digits}@example.test`, `Personne${digits} Beispiel`];
}

function personalAlarm(n: number, [ssn = "", email = "", name = ""]: readonly string[]) {
  const payload = JSON.stringify({ ssn, email, name });
  const alarm = sampleAlarm({ account_id: n, text: `Found: ${name}, ${ssn}`, payload });
  return signedDelivery({ alarm, secret: TEST_SECRET });
}
