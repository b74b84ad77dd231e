import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore, type ReceiverHealth } from "../../src/index.js";
import { CANARIES, canariesIn, canaryAlarm, canaryEvent, shownOf } from "../support/canaries.js";
import { createCollector } from "../support/collector.js";
import { deferred } from "../support/deferred.js";
import { NOW_MS } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { EVENT, Monitored } from "../support/monitored-receiver.js";
import { failingStore, spiedStore } from "../support/spied-store.js";

const iso = (ms: number): string => new Date(ms).toISOString();

const RATIOS =
  "mismatches stale storeFailures handlerFailures slowHandlers duplicates disconnects".split(" ");

it("a new receiver is ok, and its health is plain JSON", () => {
  const { receiver } = new Monitored();
  const health = receiver.health();
  expect(health).toEqual({
    status: "ok",
    reasons: [],
    lastAuthenticAt: null,
    lastAcknowledgedAt: { new_alarm: null, delete_my_data_event: null },
    ratios: Object.fromEntries(RATIOS.map((name) => [name, 0])),
    store: { ok: true, lastErrorAt: null },
    completionsPending: 0,
    inFlight: 0,
    waiting: 0,
    overloaded: {},
    draining: false,
  });
  expect(JSON.parse(JSON.stringify(health))).toEqual(health);
});

it("the last times are those of the last authentic request, and of the last acknowledged one of each type", async () => {
  const monitored = new Monitored({
    handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
  });
  await monitored.send();
  monitored.pass({ minutes: 1 });
  await monitored.send(EVENT);
  monitored.pass({ minutes: 1 });
  await monitored.send({ offMs: -3_600_000 });
  monitored.pass({ minutes: 1 });
  await monitored.send({ secret: "another secret of 20" });
  expect(monitored.health()).toMatchObject({
    lastAuthenticAt: iso(NOW_MS + 120_000),
    lastAcknowledgedAt: {
      new_alarm: iso(NOW_MS),
      delete_my_data_event: iso(NOW_MS + 60_000),
    },
    ratios: { mismatches: 0.25, stale: 0.333 },
  });
});

it("a refused delivery is not acknowledged, a duplicate and a discarded one are", async () => {
  const monitored = new Monitored();
  monitored.handler = () => Promise.reject(new Error("made up"));
  await monitored.send({ id: "one" });
  expect(monitored.health().lastAcknowledgedAt.new_alarm).toBeNull();
  monitored.handler = () => undefined;
  await monitored.send({ id: "one" });
  monitored.pass({ hours: 1 });
  expect(await monitored.send({ id: "one" })).toBe("duplicate");
  expect(monitored.health().lastAcknowledgedAt.new_alarm).toBe(iso(monitored.nowMs));
});

it("running requests are in flight, and drain shows", async () => {
  const monitored = new Monitored();
  const held = deferred();
  monitored.handler = () => held.promise;
  const answer = monitored.send();
  await vi.waitFor(() => expect(monitored.health().inFlight).toBe(1));
  const drained = monitored.receiver.drain();
  expect(monitored.health()).toMatchObject({ draining: true, status: "ok", inFlight: 1 });
  held.resolve();
  await Promise.all([answer, drained]);
  expect(monitored.health()).toMatchObject({ draining: true, inFlight: 0 });
});

it("onOutcome already sees its own request in the health", async () => {
  const seen: (string | null)[] = [];
  const monitored: Monitored = new Monitored({
    onOutcome: () => seen.push(monitored.health().lastAuthenticAt),
  });
  await monitored.send();
  expect(seen).toEqual([iso(NOW_MS)]);
});

it.each<[unknown]>([
  [null],
  [{ queues: { dead: 1 } }],
  [{ queues: [null, 7, { dead: -1, oldestMs: NaN }, { dead: "7", oldestMs: Infinity }] }],
])("a wrong argument %j counts as none", (options) => {
  const { receiver } = new Monitored();
  const health = receiver.health as (options: unknown) => ReceiverHealth;
  expect(health(options).status).toBe("ok");
});

it("no health holds a personal value, whatever is received", async () => {
  const { secret, nationalId, email } = CANARIES;
  const { options, lines } = createCollector();
  const monitored = new Monitored({
    secret,
    logger: options.logger,
    handlers: {
      new_alarm: () => Promise.reject(new Error(nationalId)),
      delete_my_data_event: { DATA_DELETED: () => undefined },
    },
  });
  const record = canaryAlarm({ severity: nationalId, event_type: email, status: nationalId });
  const event = canaryEvent(email, { severity: nationalId, [nationalId]: email });
  for (let time = 0; time < 10; time += 1) {
    await monitored.send({ secret, record });
    await monitored.send({ secret, type: nationalId.replaceAll("-", "."), record });
    await monitored.send({ secret, body: JSON.stringify({ [email]: nationalId }) });
    const body = JSON.stringify({ event });
    await monitored.send({ secret, type: "delete_my_data_event", body });
  }
  const health = monitored.health();
  expect(health.reasons.map(({ code }) => code)).toEqual([
    "types_lost",
    "handlers_failing",
    "schema_drift",
  ]);
  expect(canariesIn(shownOf(health, monitored.receiver))).toEqual([]);
  const drift = lines.filter(({ message }) => message.includes("schema drift"));
  expect(drift.length).toBeGreaterThan(5);
  expect(canariesIn(shownOf(drift))).toEqual([]);
});

it("the health stays small after many requests of every kind", async () => {
  const monitored = new Monitored();
  for (let minute = 0; minute < 200; minute += 1) {
    monitored.pass({ minutes: 1 });
    await monitored.send({ record: { [`field_${String(minute)}`]: 1 } });
    await monitored.send({ secret: "another secret of 20" });
    await monitored.send({ offMs: -3_600_000 });
  }
  expect(JSON.stringify(monitored.health()).length).toBeLessThan(3_000);
});

describe("the store in the health", () => {
  beforeEach(() => vi.useFakeTimers({ now: NOW_MS }));
  it("a store whose claims fail is not ok until a claim succeeds", async () => {
    const { store, comeBack } = failingStore("claim");
    const monitored = new Monitored({ store });
    expect(await monitored.send()).toBe("store_unavailable");
    const failedAt = monitored.nowMs;
    expect(monitored.health()).toMatchObject({
      status: "ok",
      store: { ok: false, lastErrorAt: iso(failedAt) },
    });
    await monitored.sendMany(2);
    expect(monitored.codes()).toEqual(["store_failing"]);
    comeBack();
    monitored.pass({ hours: 8 });
    expect(monitored.health()).toMatchObject({ status: "failing", store: { ok: false } });
    await monitored.send();
    expect(monitored.health()).toMatchObject({
      status: "ok",
      store: { ok: true, lastErrorAt: iso(failedAt) },
    });
  });

  it("completions that wait are a reason a minute after the first of them failed, and again after the next one", async () => {
    let down: readonly string[] = ["delivery-1", "delivery-2"];
    const inner = memoryStore();
    const complete: DeliveryStore["complete"] = (...call) =>
      down.includes(call[0]) ? rejects() : inner.complete(...call);
    const monitored = new Monitored({ now: () => Date.now(), store: { ...inner, complete } });
    const pending = () =>
      monitored.health().reasons.find(({ code }) => code === "completions_pending");
    await monitored.send();
    await vi.advanceTimersByTimeAsync(50_000);
    await monitored.send();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(pending()).toMatchObject({ count: 2, since: iso(NOW_MS) });
    expect(monitored.health().completionsPending).toBe(2);

    // The store takes one of the two.
    down = ["delivery-2"];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pending()).toMatchObject({ count: 1, since: iso(NOW_MS) });

    // Then the other one, and a minute begins for a third.
    down = [];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pending()).toBeUndefined();
    expect(monitored.health()).toMatchObject({ completionsPending: 0, store: { ok: true } });
    down = ["delivery-3"];
    const failedAt = Date.now();
    await monitored.send();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(pending()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(pending()).toMatchObject({ count: 1, since: iso(failedAt) });
  });

  it("completions that fail hours apart are a failing store, although every claim between them succeeds", async () => {
    const { store } = spiedStore({ complete: rejects });
    const monitored = new Monitored({ store });
    for (let time = 0; time < 3; time += 1) {
      expect(monitored.codes()).not.toContain("store_failing");
      monitored.pass({ hours: 4 });
      await monitored.send();
    }
    expect(monitored.codes()).toContain("store_failing");
  });

  it("a late success whose completion fails counts for the store too", async () => {
    const { store } = spiedStore({ complete: rejects });
    const monitored = new Monitored({ store, handlerTimeoutMs: 1_000 });
    const [held, started] = [deferred(), deferred()];
    monitored.handler = () => (started.resolve(), held.promise);
    const answer = monitored.send();
    await started.promise;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answer).toBe("handler_timeout");
    expect(monitored.health().store.ok).toBe(true);
    held.resolve();
    await vi.advanceTimersByTimeAsync(1);
    expect(monitored.health()).toMatchObject({ store: { ok: false }, completionsPending: 1 });
  });
});
