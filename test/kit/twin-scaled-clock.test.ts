import { describe, expect, test } from "vitest";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";

describe("the scaled clock", () => {
  test("the scaled clock shortens waits but keeps real time", async () => {
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

  test("the scaled clock cancels timers, and a very long timer does not fire at once", async () => {
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
