import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import type { WebhookRequest } from "../../src/index.js";
import {
  heldHandler,
  observedAlarmReceiver,
  type AlarmHandler,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import {
  alarmBody,
  delivery,
  eventDelivery,
  NOW_MS,
  NOW_SECONDS,
  TEST_SECRET,
} from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";

const NOTICE = "with the same X-Webhook-Timestamp";
const failing = () => Promise.reject(new Error("database is away"));

beforeEach(() => vi.useFakeTimers({ now: NOW_MS }));

/**
 * A receiver that uses the clock of the test, and a gateway that may repeat its first timestamp.
 */
function scene(handler: AlarmHandler, given: Partial<CommonReceiverOptions> = {}) {
  const { receiver, lines } = observedAlarmReceiver(handler, { now: Date.now, ...given });
  return {
    receiver,
    notices: () => linesWith(lines, NOTICE),
    /** Sends one attempt, `afterMs` later. */
    send: async (id: string, timestamp: number, afterMs = 0) => {
      await pass(afterMs);
      return (await receiver.receive(await delivery({ id, timestamp }))).outcome;
    },
  };
}

test("a repeated timestamp after more than 8 s causes one warning per receiver, which names the option to set", async () => {
  const { send, notices } = scene(failing);
  await send("one", NOW_SECONDS);
  await send("one", NOW_SECONDS, 8_001);
  await send("one", NOW_SECONDS, 20_000);
  await send("two", NOW_SECONDS);
  await send("two", NOW_SECONDS, 20_000);
  expect(notices()).toHaveLength(1);
  expect(notices()[0]).toMatchObject({
    level: "warn",
    message: expect.stringMatching(
      /captured delivery.* raise timestampToleranceMs .*store that survives restarts/,
    ) as string,
    details: { id: "one" },
  });
});

test("a repeated timestamp within 8 s is a duplicate of the network and causes no warning", async () => {
  const { send, notices } = scene(failing);
  await send("one", NOW_SECONDS);
  await send("one", NOW_SECONDS, 8_000);
  expect(notices()).toEqual([]);
});

test("a repeated timestamp causes no warning after a thousand other ids, as only so many are remembered", async () => {
  const { send, notices } = scene(failing);
  await send("one", NOW_SECONDS);
  for (let other = 0; other < 1_000; other++) await send(`other-${String(other)}`, NOW_SECONDS);
  await send("one", NOW_SECONDS, 8_001);
  expect(notices()).toEqual([]);
  await send("other-999", NOW_SECONDS);
  expect(notices()).toHaveLength(1);
});

test("a repeated timestamp causes a warning if both attempts are already stale", async () => {
  const { send, notices } = scene(failing);
  expect(await send("one", NOW_SECONDS - 1_000)).toBe("stale");
  expect(await send("one", NOW_SECONDS - 1_000, 600_000)).toBe("stale");
  expect(notices()).toHaveLength(1);
});

test("a repeated timestamp is judged by the time of arrival, however long the first handler takes", async () => {
  const { handler, start } = heldHandler();
  const { receiver, send, notices } = scene(handler, { handlerTimeoutMs: 60_000 });
  const first = await start(receiver, await delivery({ id: "one" }));
  expect(await send("one", NOW_SECONDS, 100)).toBe("in_flight");
  await pass(20_000);
  expect((await first.fail(new Error("late"))).outcome).toBe("handler_failed");
  expect(notices()).toEqual([]);
  const second = await start(receiver, await delivery({ id: "one" }));
  expect((await second.succeed()).outcome).toBe("handled");
  expect(notices()).toHaveLength(1);
});

test("a gateway that signs each attempt anew, and two ids with one timestamp, cause no warning", async () => {
  const { send, notices } = scene(failing);
  await send("two", NOW_SECONDS + 10);
  for (const at of [0, 10, 30, 70, 150]) {
    await send("one", NOW_SECONDS + at, NOW_MS + at * 1_000 - Date.now());
  }
  expect(notices()).toEqual([]);
});

test("a delivery that is not authentic causes no warning", async () => {
  const { receiver, notices } = scene(failing);
  const forged = { ...(await delivery()), body: "forged" };
  await receiver.receive(forged);
  await pass(10_000);
  await receiver.receive(forged);
  expect(notices()).toEqual([]);
});

test("a delivery that was handled at once is remembered from its first duplicate on", async () => {
  const { send, notices } = scene(({ id }) => (id === "failing" ? failing() : undefined));
  expect(await send("failing", NOW_SECONDS)).toBe("handler_failed");
  expect(await send("one", NOW_SECONDS)).toBe("handled");
  expect(await send("one", NOW_SECONDS, 10_000)).toBe("duplicate");
  expect(notices()).toEqual([]);
  expect(await send("one", NOW_SECONDS, 20_000)).toBe("duplicate");
  expect(notices()).toHaveLength(1);
});

test("the time between two attempts is that of the receiver's clock", async () => {
  const { send, notices } = scene(failing, { now: () => NOW_MS });
  await send("one", NOW_SECONDS);
  await send("one", NOW_SECONDS, 20_000);
  expect(notices()).toEqual([]);
});

test("two copies that came together and waited for a place one after the other cause no warning", async () => {
  const { handler, start } = heldHandler();
  const times = { handlerTimeoutMs: 60_000, maxConcurrentDeliveries: 1 };
  const { receiver, notices } = scene(handler, times);
  const first = await start(receiver, await delivery({ id: "first" }));
  const copies = [await delivery({ id: "copy" }), await delivery({ id: "copy" })];
  const answers = copies.map((copy) => receiver.receive(copy));
  // Web Crypto verifies on threads of its own, which no fake clock moves.
  while (receiver.health().waiting < 2) await nextTurn();
  await pass(9_000);
  await first.fail(new Error("database is away"));
  await pass(60_000);
  const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
  expect(outcomes.toSorted()).toEqual(["handler_timeout", "overloaded"]);
  expect(notices()).toEqual([]);
});

const OTHER = "the same id came with another record";
const named = (id: string, record: Record<string, unknown> = {}, secret = TEST_SECRET) =>
  delivery({ id, secret, body: alarmBody(record) });
const eventNamed = (id: string, event: Record<string, unknown> = {}) =>
  eventDelivery("DATA_DELETED", { id, event });

function observed(options: Partial<CommonReceiverOptions> = {}) {
  const handlers = { new_alarm: () => undefined, delete_my_data_event: () => undefined };
  const { receive, lines } = recordingReceiver({ handlers, ...options });
  return {
    notices: () => linesWith(lines, OTHER),
    outcomes: async (...requests: readonly Promise<WebhookRequest>[]) => {
      const outcomes: string[] = [];
      for (const request of requests) outcomes.push((await receive(await request)).outcome);
      return outcomes;
    },
  };
}

test("an id that was handled and comes with another alarm causes one warning, without anything personal", async () => {
  const { outcomes, notices } = observed();
  expect(await outcomes(named("a"), named("b"), named("a", { id: 2 }))).toEqual([
    "handled",
    "handled",
    "duplicate",
  ]);
  expect(notices()).toEqual([
    {
      level: "warn",
      message: expect.stringMatching(/came with another record: .*knows a secret/) as unknown,
      details: { id: "a" },
    },
  ]);
  await outcomes(named("a", { id: 3 }), named("b", { id: 3 }));
  expect(notices()).toHaveLength(1);
});

test("an id that failed and comes with another alarm causes a warning, also if that one is handled", async () => {
  let runs = 0;
  const { receiver, lines } = observedAlarmReceiver(() => (++runs === 1 ? failing() : undefined));
  await receiver.receive(await named("a"));
  await receiver.receive(await named("a", { id: 2 }));
  expect(linesWith(lines, OTHER)).toHaveLength(1);
});

test("an attempt without a record is not another record, and does not make the first one forgotten", async () => {
  const { receiver, lines } = observedAlarmReceiver(failing);
  const receive = async (request: WebhookRequest) => (await receiver.receive(request)).outcome;
  const empty = { id: "a", body: "{}" };
  const { outcome } = await receiver.receive(await delivery({ ...empty, id: "b" }));
  await receive(await named("b"));
  await receive(await named("a"));
  await receive(await delivery(empty));
  expect([outcome, linesWith(lines, OTHER)]).toEqual(["unrecognized", []]);
  await receive(await named("a", { id: 2 }));
  expect(linesWith(lines, OTHER)).toHaveLength(1);
});

test.each([
  ["an event of another account", eventNamed("a", { account_id: 43 })],
  ["an event of another site", eventNamed("a", { site_id: 8 })],
  ["an event of another type", eventNamed("a", { type: "DATA_REAPPEARED" })],
  ["an event at another time", eventNamed("a", { occurred_at: "2026-07-08T10:00:01+00:00" })],
  ["an event with a long type", eventNamed("a", { type: "A".repeat(1_000) })],
  ["an alarm", named("a")],
])("%s is another record than an event", async (_title, other) => {
  const { outcomes, notices } = observed();
  await outcomes(eventNamed("a"), other);
  expect(notices()).toHaveLength(1);
});

test("an attempt whose body was built anew is the same record", async () => {
  const { outcomes, notices } = observed();
  await outcomes(
    named("a"),
    named("a", { text: "again", status: "CLOSED", updated_at: "2026-07-09 00:00:00" }),
    eventNamed("b"),
    eventNamed("b", { severity: "WARNING", site_name: "renamed" }),
    named("c", { id: "5" }),
    named("c", { id: 5 }),
  );
  expect(notices()).toEqual([]);
});

test("a text of an event counts whole up to 64 characters, and a longer one by its length", async () => {
  const { outcomes, notices } = observed();
  const of = (id: string, letter: string, length: number) =>
    eventNamed(id, { type: letter.repeat(length) });
  await outcomes(of("a", "A", 65), of("a", "B", 65));
  expect(notices()).toEqual([]);
  await outcomes(of("b", "A", 64), of("b", "B", 64));
  expect(notices()).toHaveLength(1);
});

test("what a handler does to a record does not make it another one", async () => {
  const { outcomes, notices } = observed({
    handlers: { new_alarm: (record: object) => Object.assign(record, { id: {} }) },
  });
  await outcomes(named("a"), named("a"));
  expect(notices()).toEqual([]);
});

test("a delivery that is not authentic causes no warning", async () => {
  const { outcomes, notices } = observed();
  await outcomes(named("a"), named("a", { id: 2 }, "whsec_of_a_forger"));
  expect(notices()).toEqual([]);
});

test("only the last thousand handled ids are remembered", async () => {
  const { outcomes, notices } = observed();
  await outcomes(named("a"));
  for (let other = 0; other < 1_000; other++) await outcomes(named(`other-${String(other)}`));
  await outcomes(named("a", { id: 2 }));
  expect(notices()).toEqual([]);
  await outcomes(named("other-999", { id: 2 }));
  expect(notices()).toHaveLength(1);
});

test("a clock that throws after the answer is known does not change the answer", async () => {
  let reads = 0;
  const now = () => {
    reads += 1;
    if (reads > 1) throw new Error("no clock");
    return NOW_MS;
  };
  const { receiver, notices } = scene(failing, { now });
  // The receiver has read it when it was made.
  reads = 0;
  expect((await receiver.receive(await delivery())).outcome).toBe("handler_failed");
  expect(notices()).toEqual([]);
});
