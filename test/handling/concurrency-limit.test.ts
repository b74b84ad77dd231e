import { expect, test, vi } from "vitest";
import { ConcurrencyLimit } from "../../src/common/concurrency-limit.js";

test("a slot that was freed for its age frees no other one when its call ends after all", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const limit = new ConcurrencyLimit(2, 1_000);
  const old = [limit.enter(), limit.enter()];
  vi.advanceTimersByTime(999);
  expect(limit.isReached()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(limit.isReached()).toBe(false);
  limit.enter();
  const last = limit.enter();
  for (const slot of old) limit.leave(slot);
  expect(limit.isReached()).toBe(true);
  limit.leave(last);
  limit.leave(last);
  expect(limit.isReached()).toBe(false);
  limit.enter();
  expect(limit.isReached()).toBe(true);
});
