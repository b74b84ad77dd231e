import { expect, it } from "vitest";
import { createWebhookReceiver, type WebhookReceiverOptions } from "../../src/index.js";
import { NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { EVENT, Monitored } from "../support/monitored-receiver.js";

const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();

it("a quiet night within the expected time is no reason, a longer one is, and the next delivery ends it", async () => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "10h" } });
  await monitored.send();
  monitored.pass({ hours: 10 });
  expect(monitored.codes()).toEqual([]);
  monitored.nowMs += 1;
  expect(monitored.health()).toMatchObject({
    status: "failing",
    reasons: [{ code: "silence", count: 1, since: iso(NOW_MS + 10 * HOUR_MS) }],
  });
  monitored.pass({ hours: 5 });
  expect(monitored.health().reasons).toMatchObject([{ since: iso(NOW_MS + 10 * HOUR_MS) }]);
  await monitored.send();
  expect(monitored.codes()).toEqual([]);
});

it("each type has its own silence, and the types are counted", async () => {
  const monitored = new Monitored({
    handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
    expectEvery: { new_alarm: "1h", delete_my_data_event: "3h" },
  });
  await monitored.send(EVENT);
  monitored.pass({ hours: 2 });
  expect(monitored.health().reasons).toMatchObject([
    { code: "silence", count: 1, since: iso(NOW_MS + HOUR_MS) },
  ]);
  monitored.pass({ hours: 2 });
  expect(monitored.health().reasons).toMatchObject([
    { code: "silence", count: 2, since: iso(NOW_MS + HOUR_MS) },
  ]);
  await monitored.send(EVENT);
  expect(monitored.health().reasons).toMatchObject([{ code: "silence", count: 1 }]);
  await monitored.send();
  expect(monitored.codes()).toEqual([]);
});

it("refused deliveries do not end a silence", async () => {
  const monitored = new Monitored({ expectEvery: { new_alarm: "1h" } });
  monitored.handler = () => Promise.reject(new Error("made up"));
  monitored.pass({ hours: 2 });
  await monitored.send();
  await monitored.send({ offMs: -HOUR_MS });
  await monitored.send({ secret: "another secret of 20" });
  expect(monitored.codes()).toEqual(["silence"]);
});

it.each([
  ["90s", 90_000],
  ["30m", 1_800_000],
  ["6h", 21_600_000],
  ["1d", 86_400_000],
  ["1.5h", 5_400_000],
  [1_000, 1_000],
] as const)(
  "the duration %j is %i ms, and counts from the start of a process that has received nothing",
  (every, ms) => {
    const monitored = new Monitored({ expectEvery: { new_alarm: every } });
    monitored.nowMs += ms;
    expect(monitored.codes()).toEqual([]);
    monitored.nowMs += 1;
    expect(monitored.codes()).toEqual(["silence"]);
  },
);

const DURATION =
  /expectEvery\.new_alarm must be a duration from 1 second to 1 day: .* deploys would hide a longer one/;
it.each<[unknown, RegExp]>([
  ["6h", /expectEvery must be an object/],
  [null, /expectEvery must be an object/],
  [[], /expectEvery must be an object/],
  [{ alarm: "6h" }, /expectEvery\.alarm is no webhook type: use new_alarm/],
  [{ new_alarm: null }, DURATION],
  ...["6", "h", "6 h", "-6h", "6w", "1e3s", "0s", "1.001d", "25h"].map(
    (every): [unknown, RegExp] => [{ new_alarm: every }, DURATION],
  ),
  ...[999, Number.NaN, Infinity, true].map((every): [unknown, RegExp] => [
    { new_alarm: every },
    DURATION,
  ]),
])("expectEvery: %j is refused", (expectEvery, message) => {
  const options = { secret: TEST_SECRET, handlers: { new_alarm: () => 1 }, expectEvery };
  expect(() => createWebhookReceiver(options as WebhookReceiverOptions)).toThrow(message);
});

it.each([[{}], [{ new_alarm: undefined }], [undefined]])(
  "expectEvery: %j expects nothing",
  (expectEvery) => {
    const monitored = new Monitored({ expectEvery });
    monitored.pass({ hours: 1_000 });
    expect(monitored.codes()).toEqual([]);
  },
);
