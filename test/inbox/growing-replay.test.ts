import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { deadDeliveriesOf } from "../../src/inbox/dead-deliveries.js";
import { inboxConsume } from "../../src/inbox/index.js";
import { MemoryDriver } from "../support/inbox/memory-queue.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

const ids = Array.from({ length: 40 }, (_, n) => `alarm-${String(n + 1)}`);

/** A queue with 40 dead jobs, and a handler that fails for one of them. */
async function deadQueue(failing?: string) {
  const driver = new MemoryDriver();
  for (const id of ids) await driver.put(await alarmJob(id));
  for (const job of [...driver.broker.jobs.values()]) {
    driver.settle(job, { result: "dead", error: new Error("the CRM is away") });
  }
  const handled: string[] = [];
  const work = () =>
    inboxConsume({
      ...{ driver, store: memoryStore(), logger: false },
      handlers: {
        new_alarm: (_, { id }) => {
          if (id === failing) throw new Error("half fixed");
          handled.push(id);
        },
      },
    });
  return { driver, handled, work };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a growing replay", () => {
  it("replays 1, 5, 25 and the rest, each group when the one before is handled", async () => {
    const { driver, handled, work } = await deadQueue();
    const replaying = driver.replay("all", { growing: true });
    await vi.advanceTimersByTimeAsync(10_000);
    const counts = () => [driver.broker.jobs.size, driver.broker.dead.size, handled.length];
    expect(counts()).toEqual([1, 39, 0]);
    const { stop } = work();
    const seen = new Set<number>();
    for (let n = 0; n < 400; n += 1) {
      await vi.advanceTimersByTimeAsync(5);
      seen.add(driver.broker.dead.size);
    }
    expect([...seen]).toEqual([39, 34, 9, 0]);
    expect(await replaying).toEqual({ replayed: ids, notFound: [] });
    expect(counts()).toEqual([0, 0, 40]);
    await stop();
  });

  it("stops at the first run that fails, and says which one and what is left", async () => {
    const { driver, work } = await deadQueue("alarm-3");
    const { stop } = work();
    const replaying = driver.replay([...ids, "unknown", "alarm-1"], { growing: true });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await replaying).toEqual({
      replayed: ids.slice(0, 6),
      notFound: [],
      stopped: { reason: "failed", ids: ["alarm-3"], notReplayed: [...ids.slice(6), "unknown"] },
    });
    expect(driver.broker.dead.size).toBe(34);
    await stop();
  });

  it("stops when a group is not handled in time, and leaves no timer", async () => {
    const { driver } = await deadQueue();
    const replaying = driver.replay("all", { growing: true, groupTimeoutMs: 1_200 });
    await vi.advanceTimersByTimeAsync(1_200);
    expect(await replaying).toEqual({
      replayed: ["alarm-1"],
      notFound: [],
      stopped: { reason: "timeout", ids: ["alarm-1"], notReplayed: ids.slice(1) },
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("lets the engine know when it has ended, also by an error", async () => {
    const ends = vi.fn(() => Promise.resolve());
    const lost = () => Promise.reject(new Error("the connection is lost"));
    const none = () => Promise.resolve(new Set<string>());
    const letters = deadDeliveriesOf("memory", {
      ...{ list: () => Promise.resolve([]), replay: none, discard: none },
      watch: () => ({ replay: none, unhandled: lost, end: ends }),
    });
    const replaying = letters.replay(["1", "2"], { growing: true });
    await expect(replaying).rejects.toThrow("the connection is lost");
    expect(ends).toHaveBeenCalledTimes(1);
  });

  it("refuses wrong options", async () => {
    const driver = new MemoryDriver();
    for (const options of [{ groupTimeoutMs: 1 }, { slowly: true } as never]) {
      await expect(driver.replay("all", options)).rejects.toMatchObject({ code: /option/ });
    }
  });
});
