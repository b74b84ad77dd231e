import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { delivery, NOW_MS } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { Monitored } from "../support/monitored-receiver.js";
import { MinuteRing } from "../../src/telemetry/minute-ring.js";

const MINUTE_MS = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();

it("a clock that is set back leaves no time in the future, and deliveries keep their age", async () => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "6h" } });
  await monitored.send();
  // An hour ahead for a while.
  monitored.pass({ hours: 1 });
  await monitored.send();
  await monitored.sendMany(3, { offMs: -3_600_000 });
  monitored.pass({ hours: -1 });
  const { lastAuthenticAt, reasons, ratios } = monitored.health();
  expect(lastAuthenticAt).toBe(iso(NOW_MS));
  expect(reasons).toMatchObject([{ code: "stale", count: 3 }]);
  expect(Date.parse(reasons[0]?.since ?? "")).toBeLessThanOrEqual(NOW_MS);
  expect(ratios.stale).toBe(0.75);
  await monitored.send();
  monitored.pass({ minutes: 16 });
  expect(monitored.health().ratios.stale).toBe(0);
  expect(monitored.codes()).toEqual([]);
});

it("a reason that was read while the clock was ahead has no since in the future", async () => {
  const monitored = new Monitored();
  monitored.pass({ hours: 1 });
  await monitored.sendMany(3, { offMs: -3_600_000 });
  expect(monitored.codes()).toEqual(["stale"]);
  monitored.pass({ hours: -1 });
  expect(monitored.health().reasons).toMatchObject([{ code: "stale", since: iso(NOW_MS) }]);
});

it("a clock that was far ahead for a moment causes no silence", async () => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "6h" } });
  await monitored.send();
  monitored.pass({ hours: 24 });
  expect(monitored.codes()).toEqual(["silence"]);
  monitored.pass({ hours: -24 });
  expect(monitored.codes()).toEqual([]);
  monitored.pass({ hours: 6 });
  expect(monitored.codes()).toEqual([]);
});

it("a clock that was a day ahead and is set back for good finds the next silence in time", async () => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "6h" } });
  monitored.pass({ hours: 24 });
  await monitored.send();
  monitored.pass({ hours: -24 });
  expect(monitored.codes()).toEqual([]);
  monitored.pass({ hours: 6, minutes: 1 });
  expect(monitored.codes()).toEqual(["silence"]);
});

it.each<[string, () => number]>([
  ["throws", throwing(new Error("made up"))],
  ["gives NaN", () => Number.NaN],
  ["gives a time beyond all dates", () => 1e300],
  ["gives 0", () => 0],
])("a clock that %s breaks neither the receiver nor its health", async (_, broken) => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "6h" } });
  await monitored.send();
  const good = monitored.health();
  let now = broken;
  const receiver = alarmReceiver(() => undefined, {
    now: () => now(),
    expectEvery: { new_alarm: "6h" },
  });
  await receiver.receive(await delivery());
  expect(receiver.health()).toMatchObject({
    reasons: [],
    lastAcknowledgedAt: { new_alarm: null },
  });
  // It works again: as on a Cloudflare Worker, whose clock is 0 while its module loads.
  now = () => NOW_MS;
  await receiver.receive(await delivery({ id: "next" }));
  expect(receiver.health().lastAcknowledgedAt).toEqual(good.lastAcknowledgedAt);
  expect(receiver.health().status).toBe("ok");
});

it("a clock that never gives a time does not break the health of many deliveries", async () => {
  const receiver = alarmReceiver(() => undefined, { now: () => Number.NaN });
  for (const id of ["a", "b", "c", "d"]) await receiver.receive(await delivery({ id }));
  expect(receiver.health().reasons).toMatchObject([{ code: "stale", count: 4, since: iso(0) }]);
});

it("a silence counts from the first time that the clock gives", () => {
  let nowMs = 0;
  const receiver = alarmReceiver(() => undefined, {
    now: () => nowMs,
    expectEvery: { new_alarm: "6h" },
  });
  nowMs = NOW_MS;
  expect(receiver.health().reasons).toEqual([]);
  nowMs += 7 * 60 * MINUTE_MS;
  expect(receiver.health().reasons).toMatchObject([{ code: "silence" }]);
});

const NAMES = ["a", "b", "c"] as const;

/** Either one event under one of three names, or a step of the clock in milliseconds. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom(...NAMES) }) },
  fc.record({ ms: fc.integer({ min: 0, max: 3 * MINUTE_MS }) }),
  fc.record({ ms: fc.integer({ min: 0, max: 40 * MINUTE_MS }) }),
);

describe("the ring of minutes", () => {
  it("it counts what the last 15 whole minutes and the current one had, after any time", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.nat(MINUTE_MS), (steps, startMs) => {
        const counts = { a: 0, b: 0, c: 0 };
        const ring = new MinuteRing(NAMES, (name) => counts[name]);
        let nowMs = NOW_MS + startMs;
        const events: { minute: number; name: (typeof NAMES)[number] }[] = [];
        ring.turnTo(nowMs);
        for (const one of steps) {
          if ("ms" in one) {
            nowMs += one.ms;
            ring.turnTo(nowMs);
          } else {
            events.push({ minute: Math.floor(nowMs / MINUTE_MS), name: one.name });
            counts[one.name] += 1;
          }
          const minute = Math.floor(nowMs / MINUTE_MS);
          for (const names of [["a"], ["b"], ["c"], ["a", "c"]] as const) {
            const recent = events.filter(
              (event) => names.some((name) => name === event.name) && event.minute > minute - 16,
            );
            expect(ring.sum(names)).toBe(recent.length);
            const first = recent[0];
            expect(ring.firstAt(names)).toBe(
              first === undefined ? undefined : first.minute * MINUTE_MS,
            );
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  /** A ring with one event at NOW_MS. */
  function ringOfOne() {
    const counts = { one: 0 };
    const ring = new MinuteRing(["one"], (name) => counts[name]);
    ring.turnTo(NOW_MS);
    counts.one += 1;
    return { counts, ring };
  }

  it("counts keep their age if the clock is set back", () => {
    const { counts, ring } = ringOfOne();
    ring.turnTo(NOW_MS + 5 * MINUTE_MS);
    counts.one += 1;
    ring.turnTo(NOW_MS - 1_000 * MINUTE_MS);
    expect(ring.sum(["one"])).toBe(2);
    ring.turnTo(NOW_MS - 989 * MINUTE_MS);
    expect(ring.sum(["one"])).toBe(1);
    ring.turnTo(NOW_MS - 984 * MINUTE_MS);
    expect(ring.sum(["one"])).toBe(0);
  });

  it("a year later it is empty, and turns at once", () => {
    const { ring } = ringOfOne();
    ring.turnTo(NOW_MS + 525_600 * MINUTE_MS);
    expect(ring.sum(["one"])).toBe(0);
    expect(ring.firstAt(["one"])).toBeUndefined();
  });
});
