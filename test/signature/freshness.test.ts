import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
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

test.each([
  [1_000, 1_000, FRESH],
  [1_000, -1_000, FRESH],
  [1_000, 1_001, STALE],
  [1_000, -1_001, STALE],
  [1_000, 1_000.5, STALE],
  [Number.MAX_SAFE_INTEGER, 10 ** 14, FRESH],
])(
  "with a tolerance of %d ms, a clock may be off by the tolerance and no more: %d ms",
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

test.each([Number.NaN, undefined, "now", Infinity, -Infinity])(
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

/** A tolerance of three days, which is also as long as a delivery is remembered. */
function threeDays() {
  const tolerance = 3 * 86_400_000;
  const clock = { nowMs: NOW_MS };
  const now = () => clock.nowMs;
  const options = {
    now,
    store: memoryStore({ now }),
    timestampToleranceMs: tolerance,
    retentionMs: tolerance,
  };
  const ahead = delivery({ id: "ahead", timestamp: (NOW_MS + tolerance) / 1000 });
  return { tolerance, clock, options, ahead };
}

test("a delivery is remembered as long as it can be fresh, also if its timestamp is ahead of the clock", async () => {
  const { tolerance, clock, options, ahead } = threeDays();
  const { receive, handled } = recordingReceiver(options);
  expect((await receive(await ahead)).outcome).toBe("handled");
  clock.nowMs += 2 * tolerance - 1;
  expect((await receive(await ahead)).outcome).toBe("duplicate");
  clock.nowMs += 2;
  expect((await receive(await ahead)).outcome).toBe("stale");
  expect(handled).toHaveLength(1);
});

test("a copy that is still fresh when it begins to wait for a place is a duplicate when it gets one", async () => {
  const { tolerance, clock, options, ahead } = threeDays();
  const { receiver, start } = heldReceiver({ ...options, maxConcurrentDeliveries: 1 });
  await (await start(await ahead)).succeed();
  clock.nowMs += 2 * tolerance - 1;
  const timestamp = Math.floor(clock.nowMs / 1000);
  const other = await start(await delivery({ id: "other", timestamp }));
  const copy = receiver.receive(await ahead);
  while (receiver.health().waiting < 1) await nextTurn();
  clock.nowMs += 10_000;
  await other.succeed();
  expect((await copy).outcome).toBe("duplicate");
});
