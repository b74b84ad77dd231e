import { describe, expect, test } from "vitest";
import { createScaledClock } from "../../src/testing/twin/scaled-clock.js";

describe("the scaled clock", () => {
  test("shortens the wait and not the time", async () => {
    const clock = createScaledClock(1_000);
    const startedAt = performance.now();
    const before = Date.now();
    expect(clock.now()).toBeGreaterThanOrEqual(before);
    await clock.sleep(50_000);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(49);
    expect(tookMs).toBeLessThan(25_000);
    expect(clock.now()).toBeLessThanOrEqual(Date.now());
  });

  test("cancels a timer, and has no time that is too long for one", async () => {
    const clock = createScaledClock();
    const ran: string[] = [];
    const cancel = clock.startTimer(0, () => ran.push("cancelled"));
    const cancelLong = clock.startTimer(Number.MAX_SAFE_INTEGER, () => ran.push("at once"));
    cancel();
    await clock.sleep(20);
    cancelLong();
    expect(ran).toEqual([]);
  });
});
