import { describe, expect, test, vi } from "vitest";
import { createWebhookReceiver, memoryStore } from "../../src/index.js";
import { heldHandler, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import {
  TEST_SECRET,
  alarm,
  delivery,
  eventDelivery,
  onlineDataEvent,
} from "../support/deliveries.js";
import { DOWN } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { configurationErrorOf, optionsWith, refusalOf } from "../options/refusal.js";
import { claimedElsewhere, spiedStore } from "../support/spied-store.js";
import { moveUrl } from "../support/two-webhooks.js";

const once = "record";
const ALARM = "new_alarm";
const EVENT = "delete_my_data_event";
const HANDLED = { status: 200, outcome: "handled" };
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
    ["a field that is not documented", eventNamed, { note: "x" }, 2],
    ["a null in a field that is not documented", eventNamed, { note: null }, 2],
    [
      "a field named __proto__",
      eventNamed,
      JSON.parse('{"__proto__":1}') as Record<string, unknown>,
      2,
    ],
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

  test("an event with its fields in another order, nested ones too, is the same", async () => {
    const { receive, handled } = recordingReceiver({ once });
    const added = { note: { from: [{ a: 1, b: 2 }], to: "x" }, toString: "x" };
    const reversed = { toString: "x", note: { to: "x", from: [{ b: 2, a: 1 }] } };
    const event = Object.entries({ ...onlineDataEvent("DATA_DELETED"), ...added });
    const other = Object.entries({ ...onlineDataEvent("DATA_DELETED"), ...reversed }).reverse();
    for (const [id, fields] of Object.entries({ first: event, second: other })) {
      const body = JSON.stringify({ event: Object.fromEntries(fields) });
      await receive(await delivery({ id, type: "delete_my_data_event", body }));
    }
    expect(handled).toHaveLength(1);
  });

  test("events with a number whose digits are lost are handled under each id, since they may differ", async () => {
    const { receive, handled } = recordingReceiver({ once });
    for (const number of ["12345678901234567890", "12345678901234567891", "1e400", "1e401"]) {
      const marked = JSON.stringify({ event: onlineDataEvent("DATA_DELETED", { note: "@@" }) });
      const body = marked.replace('"@@"', number);
      await receive(await delivery({ id: number, type: "delete_my_data_event", body }));
    }
    expect(handled).toHaveLength(4);
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
    expect(keys).toEqual(["first", "record#<digest>", "record#<digest>", "first"]);
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
    const warned = linesWith(lines, "no key for a record");
    expect(warned).toMatchObject([
      {
        message:
          "identity-gateway-webhooks: once: no key for a record (your function gave no text, or a number is not exact), so it can run again under another X-Webhook-Id; said once",
        details: { id: "first", type: "new_alarm" },
      },
    ]);
    const { err } = warned[0]?.details as { err?: unknown };
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

describe("what a sender must not be able to do", () => {
  test("a sender with the secret of the other type cannot have an alarm skipped by an id that is the key of its record", async () => {
    const { store, calls } = spiedStore();
    const secret = { new_alarm: "alarms-0123456789abcdef", delete_my_data_event: TEST_SECRET };
    const { receive, handled } = recordingReceiver({ store, once, secret });
    const genuine = (id: string, alarmId: number) =>
      delivery({
        id,
        secret: secret.new_alarm,
        body: JSON.stringify({ alarm: alarm({ id: alarmId }) }),
      });
    // Anyone can compute the key of a record.
    await receive(await genuine("first", 4711));
    const key = calls[1]?.key ?? "";
    expect(handled).toHaveLength(1);

    const other = recordingReceiver({ once, secret });
    const forged = await eventNamed(key.replace("#", "."));
    const named = { ...forged, headers: { ...forged.headers, "x-webhook-id": key } };
    expect(await other.receive(named)).toMatchObject({ outcome: "malformed" });
    expect(await other.receive(forged)).toMatchObject(HANDLED);
    expect(await other.receive(await genuine("first", 4711))).toMatchObject(HANDLED);
  });

  test("without signatures, once other than delivery is refused, since anyone could have an alarm skipped by its number", () => {
    const unsigned = { secret: undefined, acceptUnsignedDeliveries: true };
    for (const value of [once, () => "key", { record: true, scope: "stage" }]) {
      const error = refusalOf(optionsWith({ ...unsigned, once: value }));
      expect(error.code).toBe("invalid_option");
      expect(error.message).toContain("once");
    }
    expect(() =>
      createWebhookReceiver(optionsWith({ ...unsigned, once: "delivery" })),
    ).not.toThrow();
  });
});

describe("two receivers on one store", () => {
  const scoped = (scope: string) => ({ record: true, scope }) as const;

  test("with a scope each, the alarm of one does not count as the other's of the same number", async () => {
    const store = memoryStore();
    const stage = recordingReceiver({ store, once: scoped("stage") });
    const production = recordingReceiver({ store, once: scoped("production") });
    const again = recordingReceiver({ store, once: scoped("production") });
    expect(await stage.receive(await named("first"))).toMatchObject({ outcome: "handled" });
    expect(await production.receive(await named("second"))).toMatchObject({ outcome: "handled" });
    expect(await again.receive(await named("third"))).toMatchObject({ outcome: "duplicate" });
    expect([...stage.lines, ...production.lines]).toEqual([]);
  });

  test("a scope and a key never make the digest of another scope with another key", async () => {
    const store = memoryStore();
    const of = (scope: string, key: string) =>
      recordingReceiver({ store, once: { record: () => key, scope } });
    expect(await of("a", "new_alarm\nb").receive(await named("first"))).toMatchObject(HANDLED);
    expect(await of("a\nnew_alarm", "b").receive(await named("second"))).toMatchObject(HANDLED);
    expect(await of("a", "\ud800").receive(await named("third"))).toMatchObject(HANDLED);
    expect(await of("a", "\udfff").receive(await named("fourth"))).toMatchObject(HANDLED);
  });

  test.each([
    ["this store", memoryStore()],
    ['the store "stage:"', { ...memoryStore(), scope: "stage:" }],
  ])("without a scope, one line at the start names %s", async (name, store) => {
    for (const value of [once, () => "key"] as const) {
      const { receive, lines } = recordingReceiver({ store, once: value });
      expect(lines).toHaveLength(1);
      expect(lines[0]?.message).toContain(`for every receiver on ${name}: `);
      expect(lines[0]?.message).toContain('once: { record: true, scope: "…" }');
      for (const id of ["first", "second"]) await receive(await named(id));
      expect(lines).toHaveLength(1);
    }
  });

  test.each([
    [{ record: true }, "scope"],
    [{ record: true, scope: "" }, "scope"],
    [{ record: true, scope: 1 }, "scope"],
    [{ scope: "stage" }, "record"],
    [{ record: "record", scope: "stage" }, "record"],
    [{ record: false, scope: "stage" }, "record"],
  ])("once may not be %j, and the error names %s", (value, name) => {
    const { code, message } = refusalOf(optionsWith({ once: value }));
    expect(code).toBe("invalid_option");
    expect(message).toContain(`once.${name} must be`);
  });

  test("a misspelt member of once is refused", () => {
    const { code, message } = refusalOf(optionsWith({ once: { record: true, scoop: "stage" } }));
    expect(code).toBe("unknown_option");
    expect(message).toContain("scoop is no option of once");
  });
});

test("a record is handled once in a runtime that has no global crypto", async () => {
  vi.stubGlobal("crypto", undefined);
  const { receive } = recordingReceiver({ once });
  expect(await receive(await named("first"))).toMatchObject(HANDLED);
  expect(await receive(await named("second"))).toMatchObject({ outcome: "duplicate" });
});

test("a transactional store is refused, since its transaction remembers one key", () => {
  const store = { process: () => Promise.resolve({ state: "completed" as const }) };
  const secret = "whsec_test_0123456789abcdef";
  const given = { secret, store, handlers: { new_alarm: () => undefined } };
  const error = configurationErrorOf(() => createWebhookReceiver({ ...given, once } as never));
  expect(error.code).toBe("invalid_store");
  expect(() => createWebhookReceiver({ ...given, once: "delivery" } as never)).not.toThrow();
});
