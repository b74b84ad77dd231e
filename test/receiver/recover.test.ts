import { expect, test } from "vitest";
import {
  memoryStore,
  RetryLater,
  type AuthenticDelivery,
  type DeliveryContext,
  type WebhookReceiver,
} from "../../src/index.js";
import { alarm, delivery, NOW_MS } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { alarmReceiver, answerOf, observedAlarmReceiver, send } from "../support/alarm-receiver.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { createDatabase } from "../support/transactional/transactional-database.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";

const body = JSON.stringify({ alarm: alarm() });
const HANDLED = "200 handled";
const DUPLICATE = "200 duplicate";
const lost = { id: "lost-1", type: "new_alarm", body };

const recover = (receiver: WebhookReceiver, given = lost) =>
  answerOf(recoverDelivery(receiver, given));

test.each([
  ["a lease store", () => memoryStore()],
  ["a transactional store", () => createDatabase().store],
])(
  "recover handles a lost delivery once with %s, and marks it as recovered",
  async (_store, makeStore) => {
    const contexts: DeliveryContext[] = [];
    const { receiver, reports } = recordingReceiver({
      store: makeStore() as ReturnType<typeof memoryStore>,
      handlers: { new_alarm: (_alarm, context) => void contexts.push(context) },
      now: () => NOW_MS + 999,
    });
    expect(await recover(receiver)).toBe(HANDLED);
    expect(await recover(receiver)).toBe(DUPLICATE);
    expect(await send(receiver, "lost-1")).toBe(DUPLICATE);
    expect(contexts).toHaveLength(1);
    expect(contexts[0]).toMatchObject({
      id: "lost-1",
      type: "new_alarm",
      recovered: true,
      takeover: false,
      timestamp: new Date(NOW_MS),
      rawBody: new TextEncoder().encode(body),
    });
    expect(reports.map(({ outcome, recovered }) => [outcome, recovered])).toEqual([
      ["handled", true],
      ["duplicate", true],
      ["duplicate", undefined],
    ]);
    expect(reports[0]).not.toHaveProperty("lagMs");
    expect(reports[0]).not.toHaveProperty("secretIndex");
  },
);

test("recover finds what was received before, and is not marked for what is received", async () => {
  const { receiver, runs, send } = observedAlarmReceiver();
  expect(await send("lost-1")).toBe(HANDLED);
  expect(await recover(receiver)).toBe(DUPLICATE);
  expect(runs[0]).not.toHaveProperty("recovered");
});

test.each([
  ["malformed", { ...lost, id: "" }],
  ["malformed", { ...lost, id: "a:b" }],
  ["malformed", { ...lost, type: undefined }],
  ["malformed", undefined],
  ["malformed", null],
  ["malformed", Object.defineProperty({}, "id", { get: throwing(new Error("no")) })],
  ["unrecognized", { ...lost, body: "" }],
  ["unrecognized", { ...lost, body: "{}" }],
  ["unrecognized", { ...lost, body: undefined }],
  ["body_consumed", { ...lost, body: { alarm: alarm() } }],
  ["type_mismatch", { ...lost, type: "delete_my_data_event" }],
  ["body_too_large", { ...lost, body: " ".repeat(2_000_000) }],
])("recover ends as %s and never rejects for %#", async (outcome, given) => {
  const receiver = alarmReceiver(() => undefined, { now: Date.now });
  expect((await recoverDelivery(receiver, given as typeof lost)).outcome).toBe(outcome);
});

test.each([() => Number.NaN, () => 1n as unknown as number])(
  "recover does not reject when the clock gives no number: %s",
  async (now) => {
    const answer = await recover(alarmReceiver(() => undefined, { now }));
    expect(["malformed", "stale", "internal_error"]).toContain(answer.slice(4));
  },
);

test("recover reports the error of a clock that throws", async () => {
  const failure = new Error("no clock");
  const { receiver, reports } = recordingReceiver({ now: throwing(failure) });
  expect(await recover(receiver)).toBe("500 internal_error");
  expect(reports[0]?.error).toBe(failure);
});

test("recover is bounded by the options of the receiver, and refused while it drains", async () => {
  const gate = deferred<undefined>();
  const handler = async ({ id }: DeliveryContext) => {
    if (id === "later") throw new RetryLater();
    await gate.promise;
  };
  const limits = {
    handlerTimeoutMs: 10,
    dependencyTimeoutMs: 10,
    maxConcurrentDeliveries: 1,
    now: Date.now,
  };
  const receiver = alarmReceiver(handler, limits);
  expect(await recover(receiver)).toBe("503 handler_timeout");
  expect(await recover(receiver)).toBe("409 in_flight");
  const other = { ...lost, id: "another" };
  expect(await recover(receiver, other)).toBe("503 overloaded");
  gate.resolve(undefined);
  await expect.poll(() => recover(receiver)).toBe(DUPLICATE);
  expect(await recover(receiver, { ...lost, id: "later" })).toBe("503 retry_later");
  await receiver.drain();
  expect(await recover(receiver)).toBe("503 draining");
});

test("recover needs a call: a request that only resembles one is still asked for its signature", async () => {
  let seen: object | undefined;
  const shown: AuthenticDelivery[] = [];
  const receiver = alarmReceiver(() => undefined, {
    now: Date.now,
    telemetry: {
      begin: () => undefined,
      run: (_state, work, call) => ((seen = work), call()),
      end: () => undefined,
    },
    onAuthenticDelivery: (authentic) => shown.push(authentic),
  });
  await recoverDelivery(receiver, lost);
  expect(seen).toMatchObject({ id: "lost-1", timestampMs: expect.any(Number) as number });
  // It has no signature that anyone could replay.
  expect(shown).toEqual([]);
  const { headers } = await delivery({ timestamp: Math.floor(Date.now() / 1000) });
  const unsigned = { ...headers, "x-webhook-signature": undefined };
  const copy = { headers: unsigned, body, recovered: true };
  expect((await receiver.receive(copy)).outcome).toBe("unsigned");
});

test("recover does not count as a sign of life of the gateway", async () => {
  const receiver = alarmReceiver(() => undefined);
  await recoverDelivery(receiver, lost);
  expect(receiver.health()).toMatchObject({
    lastAuthenticAt: null,
    lastAcknowledgedAt: { new_alarm: null },
  });
});
