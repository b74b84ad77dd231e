import { beforeEach, expect, it, vi } from "vitest";
import { retryConflicts } from "../../src/stores/conflict-retry.js";

beforeEach(() => {
  vi.useFakeTimers();
});

/** Runs it, and lets its pauses pass. Resolves to what became of it and how many attempts it took. */
async function attempts(attempt: (count: number) => Promise<string | undefined>) {
  let count = 0;
  const work = retryConflicts(
    () => attempt((count += 1)),
    (error) => String(error).includes("deadlock"),
  );
  const settled = work.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1_000);
  return { result: await settled, count };
}

const deadlock = new Error("deadlock");

it("a call that ended in a deadlock is tried again, and so is one that was overtaken", async () => {
  const ends = [Promise.reject(deadlock), Promise.resolve(undefined), Promise.resolve("done")];
  const run = await attempts((count) => ends[count - 1] ?? Promise.reject(deadlock));
  expect(run).toEqual({ result: "done", count: 3 });
});

it("a call that fails with any other error is not tried again", async () => {
  const failure = new Error("no such table");
  expect(await attempts(() => Promise.reject(failure))).toEqual({ result: failure, count: 1 });
});

it("a call is given up after 12 deadlocks with the last one, and after 12 overtakings with an error", async () => {
  expect(await attempts(() => Promise.reject(deadlock))).toEqual({ result: deadlock, count: 12 });
  const overtaken = await attempts(() => Promise.resolve(undefined));
  expect(overtaken.count).toBe(12);
  expect(String(overtaken.result)).toContain("overtaken by other changes 12 times");
});
