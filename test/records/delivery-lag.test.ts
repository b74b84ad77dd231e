import { expect, it } from "vitest";
import { lagOf } from "../../src/records/delivery-lag.js";
import { checkRetrySchedule, gapMs } from "../../kit/twin/retry-schedule.js";
import { createRandom } from "../../kit/random.js";
import { alarm, onlineDataEvent } from "../support/deliveries.js";

const CREATED_MS = Date.UTC(2026, 6, 8, 10, 0, 0);
const iso = alarm({ created_at: "2026-07-08T10:00:00Z" });
const legacy = alarm({ created_at: "2026-07-08 10:00:00" });
const after = (seconds: number) => CREATED_MS + seconds * 1000;

it("each attempt of the gateway's schedule is recognized, with a jitter of 20 %", () => {
  for (const jitter of [0, 0.2]) {
    const schedule = checkRetrySchedule({ jitter });
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = createRandom(seed);
      let atMs = CREATED_MS;
      for (let attempt = 1; attempt <= 10; attempt += 1) {
        expect(lagOf(iso, Math.floor(atMs / 1000) * 1000)?.attempt).toBe(attempt);
        atMs += gapMs(schedule, attempt, random);
      }
    }
  }
});

it.each([
  [0, 1],
  [9, 2],
  [32, 3],
  [105, 4],
  [256, 5],
  [589, 6],
  [1_565, 7],
  [3_659, 8],
  [9_355, 9],
  [21_693, 10],
])("%i seconds after the alarm, in both date formats, it is attempt %i", (seconds, attempt) => {
  const expected = { lagMs: seconds * 1000, attempt };
  expect(lagOf(iso, after(seconds))).toEqual(expected);
  expect(lagOf(legacy, after(seconds))).toEqual(expected);
});

it("an Online Data event has a lag and no attempt", () => {
  const event = onlineDataEvent("DATA_DELETED", { occurred_at: "2026-07-08T12:00:00+02:00" });
  expect(lagOf(event, after(40))).toEqual({ lagMs: 40_000, attempt: undefined });
});

it.each<[string, unknown, number]>([
  ["without a zone and whole hours behind", legacy, 7_209],
  ["without a zone and whole hours ahead", legacy, -10_791],
  ["with a zone and ahead by more than a clock's error", iso, -6],
  ["further back than any schedule reaches", iso, 8 * 86_400],
  ["in no format of the gateway", alarm({ created_at: "8 July" }), 0],
  ["of another type", alarm({ created_at: 5 }), 0],
  ["missing", {}, 0],
  ["of no record", undefined, 0],
])("a date that is %s tells nothing", (_, record, seconds) => {
  expect(lagOf(record, after(seconds))).toBeUndefined();
});

it("a clock that is a moment ahead is the first attempt", () => {
  expect(lagOf(iso, after(-3))).toEqual({ lagMs: -3_000, attempt: 1 });
});
