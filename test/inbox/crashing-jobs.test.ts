// A job that kills its worker, with a store whose leases outlive the worker.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { inboxConsume, type JobReport, type QueueSettlement } from "../../src/inbox/index.js";
import { jobKeyOf } from "../../src/inbox/job-handling.js";
import { never } from "../support/deferred.js";
import { MemoryBroker, MemoryDriver } from "../support/inbox/memory-queue.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The store as a process has it that ends with its driver: it renews and releases nothing more. */
function storeOf(driver: MemoryDriver, store: DeliveryStore): DeliveryStore {
  const alive = <T>(call: () => T): T => {
    if (driver.isKilled) throw new Error("killed");
    return call();
  };
  return {
    claim: (...given) => alive(() => store.claim(...given)),
    renew: (...given) => alive(() => store.renew(...given)),
    complete: (...given) => alive(() => store.complete(...given)),
    release: (...given) => alive(() => store.release(...given)),
  };
}

it.each([
  ["one worker", 1],
  ["four workers", 4],
])(
  "with %s a job that kills each worker is dead after 15 crashes, and reported once",
  async (_, size) => {
    const broker = new MemoryBroker();
    const store = memoryStore();
    const reports: JobReport[] = [];
    // What the metric of dead jobs counts, on which the alert is.
    const counted: string[] = [];
    const count = (_: unknown, { outcome }: { outcome: string }) => void counted.push(outcome);
    let crashes = 0;
    const start = (): void => {
      const driver = new MemoryDriver(broker);
      inboxConsume({
        driver,
        store: storeOf(driver, store),
        leaseMs: 2_000,
        logger: false,
        onJob: (report) => reports.push(report),
        telemetry: { begin: () => 0, run: (_, __, call) => call(), end: count },
        handlers: {
          async new_alarm() {
            crashes += 1;
            driver.isKilled = true;
            start();
            await never();
          },
        },
      });
    };
    for (let n = 0; n < size; n += 1) start();
    await new MemoryDriver(broker).put(await alarmJob("a"));
    while (broker.dead.size === 0) await vi.advanceTimersByTimeAsync(1_000);
    expect([crashes, broker.jobs.size, [...broker.dead.keys()]]).toEqual([15, 0, ["a"]]);
    const dead = { outcome: "dead", lastAttempt: true, id: "a", error: { code: "dead_job" } };
    expect([reports, counted]).toMatchObject([[dead], ["dead"]]);
  },
);

/** Runs one message of a job that the engine says has crashed so often. */
async function runAfter(crashes: number, store = memoryStore()) {
  const settled: QueueSettlement[] = [];
  const run = vi.fn();
  const driver = { extends: "never" } as const;
  const worker = inboxConsume({ driver, store, logger: false, handlers: { new_alarm: run } });
  await worker.run({
    id: "m",
    data: await alarmJob("a"),
    attempt: 1,
    crashes,
    settle: (settlement) => Promise.resolve(settled.push(settlement) > 0),
  });
  return { runs: run.mock.calls.length, settled };
}

it("a job that has survived 14 crashes runs, and one after 15 is dead without a run", async () => {
  expect(await runAfter(14)).toEqual({ runs: 1, settled: [{ result: "done" }] });
  const dead = { result: "dead", error: { code: "job_failed" } };
  expect(await runAfter(15)).toMatchObject({ runs: 0, settled: [dead] });
});

it("a job that was handled before its last crash is done, and not dead", async () => {
  const store = memoryStore();
  store.complete(await jobKeyOf("a"), "other", { retentionMs: 1e9 });
  expect(await runAfter(15, store)).toEqual({ runs: 0, settled: [{ result: "done" }] });
});
