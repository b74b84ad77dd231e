import { describe, expect, test, vi } from "vitest";
import { createWebhookReceiver, memoryStore } from "../../src/index.js";
import { heldHandler, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { alarm, delivery, eventDelivery, onlineDataEvent } from "../support/deliveries.js";
import { DOWN } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { configurationErrorOf } from "../options/refusal.js";
import { claimedElsewhere, spiedStore } from "../support/spied-store.js";
import { moveUrl } from "../support/two-webhooks.js";

const once = "record";
const ALARM = "new_alarm";
const EVENT = "delete_my_data_event";
const named = (id: string, record: Record<string, unknown> = {}) =>
  delivery({ id, body: JSON.stringify({ alarm: alarm(record) }) });
const eventNamed = (id: string, event: Record<string, unknown> = {}) =>
  eventDelivery("DATA_DELETED", { id, event });

describe("one record under two ids", () => {
  test("an alarm is handled once, and each of its ids is remembered", async () => {
    const { receive, handled, reports } = recordingReceiver({ once });
    const [first, second] = [await named("first"), await named("second")];
    expect(await receive(first)).toMatchObject({ status: 200, outcome: "handled" });
    expect(await receive(second)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(await receive(second)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(await receive(first)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(handled).toHaveLength(1);
    expect(reports.map(({ sameRecord }) => sameRecord)).toEqual([
      undefined,
      true,
      undefined,
      undefined,
    ]);
    expect(await receive(await named("third", { id: 2 }))).toMatchObject({ outcome: "handled" });
  });

  test("while a URL moves, 1 000 alarms and 300 events are handled once each", async () => {
    const store = memoryStore();
    const { handled, acknowledged } = await moveUrl([store, store]);
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });

  test("with the default each id is handled", async () => {
    const { receive, handled } = recordingReceiver();
    for (const id of ["first", "second"]) await receive(await named(id));
    expect(handled).toHaveLength(2);
  });

  test.each([
    ["an alarm id as text", named, { id: "1" }, 1],
    ["an alarm with another text and severity", named, { text: "x", severity: "Low" }, 1],
    [
      "the same instant in another zone",
      eventNamed,
      { occurred_at: "2026-07-08T12:00:00+02:00" },
      1,
    ],
    ["a fraction of the second", eventNamed, { occurred_at: "2026-07-08T10:00:00.250Z" }, 1],
    ["a field that is not documented", eventNamed, { note: "x" }, 1],
    ["another second", eventNamed, { occurred_at: "2026-07-08T10:00:01+00:00" }, 2],
    ["another account", eventNamed, { account_id: 43 }, 2],
    ["another severity", eventNamed, { severity: "WARNING" }, 2],
    ["another site", eventNamed, { site_id: 8 }, 2],
    ["another type", eventNamed, { type: "DATA_REAPPEARED" }, 2],
  ])("%s counts as told", async (_title, make, change, times) => {
    const { receive, handled } = recordingReceiver({ once });
    await receive(await make("first"));
    await receive(await make("second", change));
    expect(handled).toHaveLength(times);
  });

  test("an alarm and an event never share a key", async () => {
    const { receive, handled } = recordingReceiver({ once: () => "same" });
    for (const request of [await named("first"), await eventNamed("second")])
      await receive(request);
    expect(handled).toHaveLength(2);
  });

  test("while it runs under one id, the other is in flight, and is free again after a failure", async () => {
    const { handler, runs, start } = heldHandler();
    const { receiver, reports } = observedAlarmReceiver(handler, { once });
    const [first, second] = [await named("first"), await named("second")];
    const run = await start(receiver, first);
    expect(await receiver.receive(second)).toMatchObject({ status: 409, outcome: "in_flight" });
    expect(reports.at(-1)?.sameRecord).toBe(true);
    expect(await run.fail(new Error("no"))).toMatchObject({ status: 500 });
    const repeat = await start(receiver, second);
    expect(repeat.context.takeover).toBe(false);
    expect(await repeat.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    expect(await receiver.receive(first)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(runs).toHaveLength(2);
  });

  test("after its lease has ended, the other id takes over and is told so", async () => {
    let nowMs = 0;
    const store = memoryStore({ now: () => nowMs });
    // The process ends before it completes: the store keeps its claims.
    const dead = observedAlarmReceiver(() => undefined, {
      once,
      store: { ...store, complete: () => undefined },
    });
    await dead.receiver.receive(await named("first"));
    nowMs += 30_001;
    const { receiver, reports } = observedAlarmReceiver(() => undefined, { once, store });
    expect(await receiver.receive(await named("second"))).toMatchObject({ outcome: "handled" });
    expect(reports.at(-1)?.takeover).toBe(true);
  });

  test("what was remembered without the option counts with it, and the other way round", async () => {
    const store = memoryStore();
    const { receive: without } = recordingReceiver({ store });
    const { receive: with_, handled } = recordingReceiver({ store, once });
    await without(await named("first"));
    expect(await with_(await named("first"))).toMatchObject({ outcome: "duplicate" });
    await with_(await named("second"));
    await with_(await named("third"));
    expect(handled).toHaveLength(1);
    for (const id of ["second", "third"]) {
      expect(await without(await named(id))).toMatchObject({ outcome: "duplicate" });
    }
  });
});

describe("two keys in the store", () => {
  test("the store gets the id and a digest, and nothing of the record", async () => {
    const { store, calls } = spiedStore();
    const key = "someone@example.com";
    const { receive } = recordingReceiver({ store, once: () => key });
    await receive(await named("first"));
    expect(calls.map(({ method }) => method)).toEqual(["claim", "claim", "complete", "complete"]);
    const keys = calls.map(({ key }) => key.replace(/[0-9a-f]{64}$/, "<digest>"));
    expect(keys).toEqual(["first", "record.<digest>", "record.<digest>", "first"]);
    expect(new Set(calls.map(({ owner }) => owner)).size).toBe(1);
    expect(calls[0]?.owner).toMatch(/^[0-9a-f-]+$/);
  });

  test("both leases are renewed, and the loss of either aborts the signal", async () => {
    vi.useFakeTimers();
    for (const lostKey of [0, 1]) {
      const keys: string[] = [];
      const inner = memoryStore();
      const { store, count } = spiedStore(
        {
          claim: (key, ...more) => {
            keys.push(key);
            return inner.claim(key, ...more);
          },
          renew: (key) => key !== keys[lostKey],
        },
        inner,
      );
      const { handler, start } = heldHandler();
      const { receiver } = observedAlarmReceiver(handler, { once, store });
      const run = await start(receiver, await named("first"));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(count("renew")).toBe(2);
      expect(run.context.signal.aborted).toBe(true);
      await run.succeed();
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a completion that fails for one key is repeated until both are remembered", async () => {
    vi.useFakeTimers();
    for (const failingCall of [1, 2]) {
      const inner = memoryStore();
      const { store, count } = spiedStore(
        {
          complete: (...call) => {
            if (count("complete") === failingCall) throw DOWN;
            return inner.complete(...call);
          },
        },
        inner,
      );
      const { receiver } = observedAlarmReceiver(() => undefined, { once, store });
      expect(await receiver.receive(await named("first"))).toMatchObject({ outcome: "handled" });
      await vi.advanceTimersByTimeAsync(1_000);
      const other = observedAlarmReceiver(() => undefined, { once, store: inner }).receiver;
      expect(await claimedElsewhere(inner, ["first"])).toEqual(["completed"]);
      expect(await other.receive(await named("second"))).toMatchObject({ outcome: "duplicate" });
    }
  });

  test("if the second claim fails, the first is released, and the next attempt runs without takeover", async () => {
    vi.useFakeTimers();
    const inner = memoryStore();
    const { store, count } = spiedStore(
      {
        claim: (...call) => {
          if (count("claim") === 2) throw DOWN;
          return inner.claim(...call);
        },
      },
      inner,
    );
    const { receiver, reports } = observedAlarmReceiver(() => undefined, { once, store });
    const request = await named("first");
    expect(await receiver.receive(request)).toMatchObject({ outcome: "store_unavailable" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
    expect(reports.at(-1)).not.toHaveProperty("takeover");
  });
});

describe("a function that names the key", () => {
  test("gets the type and the record", async () => {
    const key = vi.fn(() => "key");
    const { receive } = recordingReceiver({ once: key });
    await receive(await named("first"));
    await receive(await eventNamed("second"));
    expect(key.mock.calls).toEqual([
      [{ type: ALARM, record: expect.objectContaining(alarm()) as unknown }],
      [
        {
          type: EVENT,
          record: expect.objectContaining(onlineDataEvent("DATA_DELETED")) as unknown,
        },
      ],
    ]);
  });

  test.each([
    ["throws", () => expect.fail("no key")],
    ["gives no text", () => undefined],
    ["gives an empty text", () => ""],
    ["gives a number", () => 1],
    ["gives a promise", () => Promise.reject(new Error("no key"))],
  ])("if it %s, the id alone decides, with one warning", async (title, key) => {
    const { receive, handled, lines } = recordingReceiver({ once: key as () => string });
    for (const id of ["first", "second", "second"]) await receive(await named(id));
    expect(handled).toHaveLength(2);
    expect(lines).toMatchObject([
      {
        message:
          "identity-gateway-webhooks: once: no key for a record: its X-Webhook-Id alone decides; said once",
        details: { id: "first", type: "new_alarm" },
      },
    ]);
    const { err } = lines[0]?.details as { err?: unknown };
    expect(err === undefined).toBe(title !== "throws");
  });

  test("a delivery without a record is known by its id", async () => {
    const unrecognized = vi.fn();
    const { receive } = recordingReceiver({ once, handlers: { unrecognized } });
    const body = JSON.stringify({ alarm: { id: 1 } });
    for (const id of ["first", "second", "second"]) await receive(await delivery({ id, body }));
    expect(unrecognized).toHaveBeenCalledTimes(2);
  });
});

test("a transactional store is refused, since its transaction remembers one key", () => {
  const store = { process: () => Promise.resolve({ state: "completed" as const }) };
  const secret = "whsec_test_0123456789abcdef";
  const given = { secret, store, handlers: { new_alarm: () => undefined } };
  const error = configurationErrorOf(() => createWebhookReceiver({ ...given, once } as never));
  expect(error.code).toBe("invalid_store");
  expect(() => createWebhookReceiver({ ...given, once: "delivery" } as never)).not.toThrow();
});
