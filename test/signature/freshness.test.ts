import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { heldReceiver } from "../support/alarm-receiver.js";
import { NOW_MS, NOW_SECONDS, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const MAX_SECONDS = 999_999_999_999;

/** The outcome of a delivery when the receiver's clock shows `nowMs`. */
async function outcomeAt(nowMs: unknown, timestampToleranceMs: number, timestamp = NOW_SECONDS) {
  const { receive, handled } = recordingReceiver({
    now: () => nowMs as number,
    timestampToleranceMs,
    retentionMs: Number.MAX_SAFE_INTEGER,
  });
  const { outcome, status } = await receive(await delivery({ timestamp }));
  return { outcome, status, runs: handled.length };
}

const FRESH = { outcome: "handled", status: 200, runs: 1 };
const STALE = { outcome: "stale", status: 409, runs: 0 };

describe("the freshness of a signed timestamp", () => {
  test.each([
    [1_000, 0, FRESH],
    [1_000, 1_000, FRESH],
    [1_000, -1_000, FRESH],
    [1_000, 1_001, STALE],
    [1_000, -1_001, STALE],
    [1_000, 1_000.5, STALE],
    [60_000, 60_000, FRESH],
    [60_000, -60_001, STALE],
    [Number.MAX_SAFE_INTEGER, 10 ** 14, FRESH],
  ])(
    "with a tolerance of %d ms, a clock that is %d ms off gives the expected freshness, both limits included",
    async (toleranceMs, offMs, expected) => {
      expect(await outcomeAt(NOW_MS + offMs, toleranceMs)).toEqual(expected);
    },
  );

  test("the tolerance also holds at the smallest and the largest possible timestamp", async () => {
    expect(await outcomeAt(0, 1_000, 0)).toEqual(FRESH);
    expect(await outcomeAt(1_001, 1_000, 0)).toEqual(STALE);
    expect(await outcomeAt(MAX_SECONDS * 1_000, 1_000, MAX_SECONDS)).toEqual(FRESH);
    expect(await outcomeAt(NOW_MS, 300_000, MAX_SECONDS)).toEqual(STALE);
  });

  test("as a property, a signed timestamp is fresh within the tolerance and stale outside it", async () => {
    const offsets = fc.integer({ min: -700_000, max: 700_000 });
    const tolerances = fc.integer({ min: 1_000, max: 600_000 });
    await fc.assert(
      fc.asyncProperty(offsets, tolerances, async (offMs, toleranceMs) => {
        const expected = Math.abs(offMs) <= toleranceMs ? FRESH : STALE;
        expect(await outcomeAt(NOW_MS + offMs, toleranceMs)).toEqual(expected);
      }),
      { seed: 20_260_708, numRuns: 200 },
    );
  });
});

test.each([Number.NaN, undefined, "now", {}, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
  "no delivery is fresh for a clock that shows %s",
  async (nowMs) => {
    expect(await outcomeAt(nowMs, 300_000)).toEqual(STALE);
  },
);

test("a stale delivery is fresh again after the clock is corrected", async () => {
  let nowMs = NOW_MS - 3_600_000;
  const { receive } = recordingReceiver({ now: () => nowMs });
  const request = await delivery();
  expect((await receive(request)).outcome).toBe("stale");
  nowMs = NOW_MS;
  expect((await receive(request)).outcome).toBe("handled");
});

test("a delivery is remembered as long as it can be fresh, also if its timestamp is ahead of the clock", async () => {
  const DAY = 86_400_000;
  let nowMs = NOW_MS;
  const tolerance = 3 * DAY;
  const { receive, handled } = recordingReceiver({
    timestampToleranceMs: tolerance,
    retentionMs: tolerance,
    now: () => nowMs,
    store: memoryStore({ now: () => nowMs }),
  });
  const ahead = await delivery({ timestamp: (NOW_MS + tolerance) / 1000 });
  expect((await receive(ahead)).outcome).toBe("handled");
  nowMs += 2 * tolerance - 1;
  expect((await receive(ahead)).outcome).toBe("duplicate");
  nowMs += 2;
  expect((await receive(ahead)).outcome).toBe("stale");
  expect(handled).toHaveLength(1);
});

test("a copy that is still fresh when it begins to wait for a place is a duplicate when it gets one", async () => {
  const tolerance = 3 * 86_400_000;
  let nowMs = NOW_MS;
  const now = () => nowMs;
  const { receiver, start } = heldReceiver({
    now,
    store: memoryStore({ now }),
    timestampToleranceMs: tolerance,
    retentionMs: tolerance,
    maxConcurrentDeliveries: 1,
  });
  const ahead = await delivery({ id: "ahead", timestamp: (NOW_MS + tolerance) / 1000 });
  await (await start(ahead)).succeed();
  nowMs += 2 * tolerance - 1;
  const other = await start(await delivery({ id: "other", timestamp: Math.floor(nowMs / 1000) }));
  const copy = receiver.receive(ahead);
  while (receiver.health().waiting < 1) await nextTurn();
  nowMs += 10_000;
  await other.succeed();
  expect((await copy).outcome).toBe("duplicate");
});
