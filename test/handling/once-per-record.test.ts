import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  createWebhookReceiver,
  DiscardDelivery,
  memoryStore,
  type DeliveryStore,
} from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  IN_FLIGHT,
  answerOf,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import {
  alarm,
  alarmBody,
  delivery,
  eventDelivery,
  onlineDataEvent,
  TEST_SECRET,
  type DeliveryOverrides,
} from "../support/deliveries.js";
import { DOWN, rejects } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { configurationErrorOf, expectRefused, optionsWith } from "../options/refusal.js";
import {
  claimedElsewhere,
  failingStore,
  heldCompletions,
  spiedStore,
} from "../support/spied-store.js";
import { deferred } from "../support/deferred.js";
import { pass } from "../support/fake-time.js";
import {
  transactionalScene,
  writesId,
  type SimulatedContext,
} from "../support/transactional/transactional-database.js";
import { moveUrl } from "../support/two-webhooks.js";

const once = "record";
const LEASE_MS = 3_000;

type Change = Record<string, unknown>;
const named = (id: string, record: Change = {}, overrides: DeliveryOverrides = {}) =>
  delivery({ id, body: alarmBody(record), ...overrides });
const eventNamed = (id: string, event: Change = {}) => eventDelivery("DATA_DELETED", { id, event });

/** A receiver by records whose `send` sends the same alarm under an id. */
function recordReceiver(options: Parameters<typeof recordingReceiver>[0] = {}) {
  const made = recordingReceiver({ once, ...options });
  return { ...made, send: async (id: string) => answerOf(made.receive(await named(id))) };
}

describe("one record under two ids", () => {
  test("an alarm is handled once, and each of its ids is remembered", async () => {
    const { receive, send, handled, reports } = recordReceiver();
    expect(await send("first")).toBe(HANDLED);
    for (const id of ["second", "second", "first"]) expect(await send(id)).toBe(DUPLICATE);
    expect(handled).toHaveLength(1);
    const marks = reports.map(({ sameRecord }) => sameRecord);
    expect(marks).toEqual([undefined, true, undefined, undefined]);
    expect(await answerOf(receive(await named("third", { id: 2 })))).toBe(HANDLED);
  });

  test("while a URL moves, 1 000 alarms and 300 events are handled once each", async () => {
    const store = memoryStore();
    const { handled, acknowledged } = await moveUrl([store, store]);
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });

  test("with the default each id is handled", async () => {
    const { send, handled } = recordReceiver({ once: undefined });
    for (const id of ["first", "second"]) await send(id);
    expect(handled).toHaveLength(2);
  });

  const proto = JSON.parse('{"__proto__":1}') as Change;
  test.each<[string, typeof eventNamed, Change, number]>([
    ["an alarm id as text", named, { id: "1" }, 1],
    ["an alarm with another text and severity", named, { text: "x", severity: "Low" }, 1],
    ["the same instant elsewhere", eventNamed, { occurred_at: "2026-07-08T12:00:00+02:00" }, 1],
    ["a fraction of the second", eventNamed, { occurred_at: "2026-07-08T10:00:00.250Z" }, 1],
    ["a field that is not documented", eventNamed, { note: "x" }, 2],
    ["a null in a field that is not documented", eventNamed, { note: null }, 2],
    ["a field named __proto__", eventNamed, proto, 2],
    ["another second", eventNamed, { occurred_at: "2026-07-08T10:00:01+00:00" }, 2],
    ["another account", eventNamed, { account_id: 43 }, 2],
    ["another severity", eventNamed, { severity: "WARNING" }, 2],
    ["another site", eventNamed, { site_id: 8 }, 2],
    ["another type", eventNamed, { type: "DATA_REAPPEARED" }, 2],
  ])("%s counts as told", async (_title, make, change, times) => {
    const { receive, handled } = recordReceiver();
    await receive(await make("first"));
    await receive(await make("second", change));
    expect(handled).toHaveLength(times);
  });

  test("an event with its fields in another order, nested ones too, is the same", async () => {
    const { receive, handled } = recordReceiver();
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
    const { receive, handled } = recordReceiver();
    for (const number of ["12345678901234567890", "12345678901234567891", "1e400", "1e401"]) {
      const marked = JSON.stringify({ event: onlineDataEvent("DATA_DELETED", { note: "@@" }) });
      const body = marked.replace('"@@"', number);
      await receive(await delivery({ id: number, type: "delete_my_data_event", body }));
    }
    expect(handled).toHaveLength(4);
  });

  test("an alarm and an event never share a key", async () => {
    const { receive, handled } = recordReceiver({ once: () => "same" });
    await receive(await named("first"));
    await receive(await eventNamed("second"));
    expect(handled).toHaveLength(2);
  });

  test("while it runs under one id, the other is in flight, and is free again after a failure", async () => {
    vi.useFakeTimers();
    const { send, reports, run, runs, start } = await heldRun({ once }, await named("first"));
    expect(await send("second")).toBe(IN_FLIGHT);
    expect(reports.at(-1)?.sameRecord).toBe(true);
    expect(await answerOf(run.fail(new Error("no")))).toBe("500 handler_failed");
    const repeat = await start(await named("second"));
    expect(repeat.context.takeover).toBe(false);
    expect(await answerOf(repeat.succeed())).toBe(HANDLED);
    expect(await send("first")).toBe(DUPLICATE);
    expect(runs).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("after its lease has ended, the other id takes over and is told so", async () => {
    let nowMs = 0;
    const store = memoryStore({ now: () => nowMs });
    // The process ends before it completes: the store keeps its claims.
    const dead = recordReceiver({ store: { ...store, complete: () => undefined } });
    await dead.send("first");
    nowMs += 30_001;
    const { send, reports } = recordReceiver({ store });
    expect(await send("second")).toBe(HANDLED);
    expect(reports.at(-1)?.takeover).toBe(true);
  });

  test("what was remembered without the option counts with it, and the other way round", async () => {
    const store = memoryStore();
    const without = recordReceiver({ store, once: undefined });
    const { send, handled } = recordReceiver({ store });
    await without.send("first");
    expect(await send("first")).toBe(DUPLICATE);
    await send("second");
    await send("third");
    expect(handled).toHaveLength(1);
    for (const id of ["second", "third"]) expect(await without.send(id)).toBe(DUPLICATE);
  });
});

describe("two keys in the store", () => {
  beforeEach(() => vi.useFakeTimers());

  test("the store gets the id and a digest, and nothing of the record", async () => {
    const { store, calls } = spiedStore();
    await recordReceiver({ store, once: () => "someone@example.com" }).send("first");
    const made = calls.map(({ method, key }) => `${method} ${key.replace(/[0-9a-f]{64}$/, "…")}`);
    expect(made).toEqual(["claim first", "claim record#…", "complete record#…", "complete first"]);
    expect(new Set(calls.map(({ owner }) => owner)).size).toBe(1);
    expect(calls[0]?.owner).toMatch(/^[0-9a-f-]+$/);
  });

  test.each([0, 1])(
    "both leases are renewed, and the loss of lease %i aborts the signal",
    async (lost) => {
      const { store, calls, count } = spiedStore({ renew: (key) => key !== calls[lost]?.key });
      const { run } = await heldRun({ once, store }, await named("first"));
      await pass(10_000);
      expect(count("renew")).toBe(2);
      expect(run.context.signal.aborted).toBe(true);
      await run.succeed();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  /** A store of which this call of a method fails. */
  function failingAt(method: "claim" | "complete", failingCall: number) {
    const inner = memoryStore();
    const original = inner[method].bind(inner) as (...call: unknown[]) => never;
    const spy = spiedStore(
      {
        [method]: (...call: unknown[]) => {
          if (spy.count(method) === failingCall) throw DOWN;
          return original(...call);
        },
      },
      inner,
    );
    return { store: spy.store, inner };
  }

  test.each([1, 2])(
    "a completion whose call %i fails is repeated until both are remembered",
    async (call) => {
      const { store, inner } = failingAt("complete", call);
      expect(await recordReceiver({ store }).send("first")).toBe(HANDLED);
      await pass(1_000);
      expect(await claimedElsewhere(inner, ["first"])).toEqual(["completed"]);
      expect(await recordReceiver({ store: inner }).send("second")).toBe(DUPLICATE);
    },
  );

  test("if the second claim fails, the first is released, and the next attempt runs without takeover", async () => {
    const { store } = failingAt("claim", 2);
    const { send, reports } = recordReceiver({ store });
    expect(await send("first")).toBe("503 store_unavailable");
    await pass(1_000);
    expect(await send("first")).toBe(HANDLED);
    expect(reports.at(-1)).not.toHaveProperty("takeover");
  });
});

describe("a function that names the key", () => {
  test("gets the type and the record", async () => {
    const key = vi.fn<(given: unknown) => string>(() => "key");
    const { receive } = recordReceiver({ once: key });
    await receive(await named("first"));
    await receive(await eventNamed("second"));
    expect(key.mock.calls).toMatchObject([
      [{ type: "new_alarm", record: alarm() }],
      [{ type: "delete_my_data_event", record: onlineDataEvent("DATA_DELETED") }],
    ]);
  });

  test.each([
    ["throws", () => expect.fail("no key")],
    ["gives no text", () => undefined],
    ["gives an empty text", () => ""],
    ["gives a number", () => 1],
    ["gives a promise", () => Promise.reject(new Error("no key"))],
  ])("if it %s, the id alone decides, with one warning", async (title, key) => {
    const { send, handled, lines } = recordReceiver({ once: key as () => string });
    for (const id of ["first", "second", "second"]) await send(id);
    expect(handled).toHaveLength(2);
    const warned = linesWith(lines, "no key for a record");
    expect(warned).toMatchObject([
      {
        message:
          "identity-gateway-webhooks: once: no key for a record (your function gave no text, or a number is not exact), so it can run again under another X-Webhook-Id; said once",
        details: { id: "first", type: "new_alarm" },
      },
    ]);
    const details = warned[0]?.details as { err?: unknown } | undefined;
    expect(details?.err === undefined).toBe(title !== "throws");
  });

  test("a delivery without a record is known by its id", async () => {
    const unrecognized = vi.fn();
    const { receive } = recordReceiver({ handlers: { unrecognized } });
    const body = JSON.stringify({ alarm: { id: 1 } });
    for (const id of ["first", "second", "second"]) await receive(await delivery({ id, body }));
    expect(unrecognized).toHaveBeenCalledTimes(2);
  });
});

describe("what a sender must not be able to do", () => {
  test("a sender with the other type's secret cannot have an alarm skipped by its record's key", async () => {
    const { store, calls } = spiedStore();
    const secret = { new_alarm: "alarms-0123456789abcdef", delete_my_data_event: TEST_SECRET };
    const { receive, handled } = recordReceiver({ store, secret });
    const genuine = await named("first", { id: 4711 }, { secret: secret.new_alarm });
    // Anyone can compute the key of a record.
    await receive(genuine);
    const key = calls[1]?.key ?? "";
    expect(handled).toHaveLength(1);

    const other = recordReceiver({ secret });
    const forged = await eventNamed(key.replace("#", "."));
    const withKey = { ...forged, headers: { ...forged.headers, "x-webhook-id": key } };
    expect(await other.receive(withKey)).toMatchObject({ outcome: "malformed" });
    expect(await answerOf(other.receive(forged))).toBe(HANDLED);
    expect(await answerOf(other.receive(genuine))).toBe(HANDLED);
  });

  test.each([once, () => "key", { record: true, scope: "stage" }])(
    "without signatures, once other than delivery is refused",
    (value) => {
      const unsigned = { secret: undefined, acceptUnsignedDeliveries: true };
      expectRefused({ ...unsigned, once: value }, "invalid_option", "once");
      const allowed = optionsWith({ ...unsigned, once: "delivery" });
      expect(() => createWebhookReceiver(allowed)).not.toThrow();
    },
  );
});

describe("two receivers on one store", () => {
  test("with a scope each, the alarm of one does not count as the other's of the same number", async () => {
    const store = memoryStore();
    const of = (scope: string) => recordReceiver({ store, once: { record: true, scope } });
    const [stage, production] = [of("stage"), of("production")];
    expect(await stage.send("first")).toBe(HANDLED);
    expect(await production.send("second")).toBe(HANDLED);
    expect(await of("production").send("third")).toBe(DUPLICATE);
    expect([...stage.lines, ...production.lines]).toEqual([]);
  });

  test("a scope and a key never make the digest of another scope with another key", async () => {
    const store = memoryStore();
    const of = (scope: string, key: string) =>
      recordReceiver({ store, once: { record: () => key, scope } });
    expect(await of("a", "new_alarm\nb").send("first")).toBe(HANDLED);
    expect(await of("a\nnew_alarm", "b").send("second")).toBe(HANDLED);
    expect(await of("a", "\ud800").send("third")).toBe(HANDLED);
    expect(await of("a", "\udfff").send("fourth")).toBe(HANDLED);
  });

  test.each([
    ["this store", memoryStore()],
    ['the store "stage:"', { ...memoryStore(), scope: "stage:" }],
  ])("without a scope, one line at the start names %s", async (name, store) => {
    for (const value of [once, () => "key"] as const) {
      const { send, lines } = recordReceiver({ store, once: value });
      expect(lines).toHaveLength(1);
      expect(lines[0]?.message).toContain(`for every receiver on ${name}: `);
      expect(lines[0]?.message).toContain('once: { record: true, scope: "…" }');
      for (const id of ["first", "second"]) await send(id);
      expect(lines).toHaveLength(1);
    }
  });

  test.each([
    [{ record: true }, "invalid_option", "once.scope must be"],
    [{ record: true, scope: "" }, "invalid_option", "once.scope must be"],
    [{ record: true, scope: 1 }, "invalid_option", "once.scope must be"],
    [{ scope: "stage" }, "invalid_option", "once.record must be"],
    [{ record: "record", scope: "stage" }, "invalid_option", "once.record must be"],
    [{ record: false, scope: "stage" }, "invalid_option", "once.record must be"],
    [{ record: true, scoop: "stage" }, "unknown_option", "scoop is no option of once"],
  ])("once may not be %j: %s, and the error says %s", (value, code, text) => {
    expectRefused({ once: value }, code, text);
  });
});

test("a record is handled once in a runtime that has no global crypto", async () => {
  vi.stubGlobal("crypto", undefined);
  const { send } = recordReceiver();
  expect(await send("first")).toBe(HANDLED);
  expect(await send("second")).toBe(DUPLICATE);
});

describe("with a transactional store", () => {
  const sceneOf = (handler: (context: SimulatedContext) => unknown) =>
    transactionalScene(handler, {}, { once });

  test("an alarm is handled once under two ids, and each of its ids is remembered", async () => {
    const { receiver, effects, remembered, reports } = sceneOf(writesId);
    for (const id of ["first", "second", "second"]) await receiver.receive(await named(id));
    expect(reports.map(({ outcome, sameRecord }) => [outcome, sameRecord])).toEqual([
      ["handled", undefined],
      ["duplicate", true],
      ["duplicate", undefined],
    ]);
    expect(effects).toEqual(["first"]);
    expect([...remembered.keys()].filter((key) => !key.includes("#"))).toEqual(["first", "second"]);
  });

  test("an alarm that runs here is in flight under another id, without a call of the store", async () => {
    const hold = deferred();
    const { receiver, calls } = sceneOf(() => hold.promise);
    const first = receiver.receive(await named("first"));
    await vi.waitFor(() => expect(calls).toEqual(["first"]));
    expect(await answerOf(receiver.receive(await named("second")))).toBe(IN_FLIGHT);
    expect(calls).toEqual(["first"]);
    hold.resolve();
    expect(await answerOf(first)).toBe(HANDLED);
  });

  test("an alarm whose handler fails is handled under another id", async () => {
    let runs = 0;
    const { receiver, effects } = sceneOf((context) => {
      runs += 1;
      if (runs === 1) throw new Error("down");
      writesId(context);
    });
    for (const id of ["first", "second", "first"]) await receiver.receive(await named(id));
    expect([runs, effects]).toEqual([2, ["second"]]);
  });

  test("a discarded alarm is a duplicate under another id", async () => {
    const { receiver, reports } = sceneOf(() => {
      throw new DiscardDelivery();
    });
    for (const id of ["first", "second"]) await receiver.receive(await named(id));
    expect(reports.map(({ outcome }) => outcome)).toEqual(["discarded", "duplicate"]);
  });
});

test("a transactional store that does not say that it remembers records is refused", () => {
  const store = { process: () => Promise.resolve({ state: "completed" as const }) };
  const given = { secret: TEST_SECRET, store, handlers: { new_alarm: () => undefined } };
  const error = configurationErrorOf(() => createWebhookReceiver({ ...given, once } as never));
  expect(error.code).toBe("invalid_store");
  expect(() => createWebhookReceiver({ ...given, once: "delivery" } as never)).not.toThrow();
});

describe("a record that runs in this process, under another of its ids,", () => {
  test("is in flight after the store has lost the lease during a failed renewal", async () => {
    vi.useFakeTimers();
    const store: DeliveryStore = { ...memoryStore(), renew: rejects };
    const options = { once, store, leaseMs: LEASE_MS } as const;
    const { send, reports, run, runs } = await heldRun(options, await named("first"));
    await pass(3 * LEASE_MS);
    expect(await send("second")).toBe(IN_FLIGHT);
    expect(reports.at(-1)).toMatchObject({ id: "second", sameRecord: true });
    expect(runs).toHaveLength(1);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(await send("second")).toBe(DUPLICATE);
  });

  test("is in flight after a pause of the process of 2.6 leases, if a request comes before its timers", async () => {
    const options = { once, leaseMs: 1_000 } as const;
    const { send, run, runs } = await heldRun(options, await named("first"));
    const second = await named("second");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_600);
    expect(await send(second)).toBe(IN_FLIGHT);
    expect(runs).toHaveLength(1);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
  });

  test("is the store's to decide if the runtime has ended its request", async () => {
    vi.useFakeTimers();
    const options = { once, leaseMs: LEASE_MS } as const;
    const { send, runs, start } = await heldRun(options, await named("first"));
    vi.clearAllTimers();
    await pass(3 * LEASE_MS);
    const starting = start(await named("second"));
    await pass(2);
    const second = await starting;
    expect(second.context.takeover).toBe(true);
    expect(await send("third")).toBe(IN_FLIGHT);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
    expect(runs).toHaveLength(2);
  });
});

describe("a record that was handled in this process, under another of its ids,", () => {
  beforeEach(() => vi.useFakeTimers());

  test("is a duplicate while its completion waits for the store, also after the lease", async () => {
    const { store, inner, comeBack } = failingStore("complete");
    const { send, reports, runs } = observedAlarmReceiver(undefined, { once, store });
    expect(await send("first")).toBe(HANDLED);
    await pass(600_000);
    expect(await send("second")).toBe(DUPLICATE);
    expect(reports.at(-1)?.sameRecord).toBe(true);
    comeBack();
    await pass(30_000);
    expect(await claimedElsewhere(inner, ["first"])).toEqual(["completed"]);
    expect(await send("third")).toBe(DUPLICATE);
    expect(runs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is a duplicate while its completion is on its way", async () => {
    const { store, ends } = heldCompletions();
    const { send, runs, start } = heldReceiver({ once, store });
    const first = (await start(await named("first"))).succeed();
    await vi.waitUntil(() => ends.length === 1);
    expect(await send("second")).toBe(DUPLICATE);
    ends[0]?.resolve();
    await vi.waitUntil(() => ends.length === 2);
    ends[1]?.resolve();
    expect(await answerOf(first)).toBe(HANDLED);
    expect(runs).toHaveLength(1);
  });
});
