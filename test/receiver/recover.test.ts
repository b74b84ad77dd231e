import { describe, expect, test } from "vitest";
import {
  createWebhookReceiver,
  memoryStore,
  RetryLater,
  type AuthenticDelivery,
  type DeliveryStore,
  type DeliveryContext,
  type WebhookReceiver,
} from "../../src/index.js";
import type { RecoverableRecord } from "../../src/delivery/recovered-delivery.js";
import { configurationErrorOf } from "../options/refusal.js";
import {
  alarm,
  alarmBody,
  delivery,
  NOW_MS,
  onlineDataEvent,
  TEST_SECRET,
} from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import {
  DUPLICATE,
  HANDLED,
  alarmReceiver,
  answerOf,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { createDatabase } from "../support/transactional/transactional-database.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";
import { recoverRecord } from "../../src/management/recover-delivery.js";

const body = alarmBody();
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
  ["malformed", { ...lost, id: "a:b" }],
  ["malformed", { ...lost, type: undefined }],
  ["malformed", undefined],
  ["malformed", null],
  ["malformed", Object.defineProperty({}, "id", { get: throwing(new Error("no")) })],
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

describe("recoverRecord", () => {
  const listed = { type: "new_alarm", record: alarm() } as const;
  const recoverListed = (receiver: WebhookReceiver, given: RecoverableRecord = listed) =>
    answerOf(recoverRecord(receiver, given));
  const makers = [
    ["a lease store", () => memoryStore()],
    ["a transactional store", () => createDatabase().store],
  ] as const;
  const byRecord = (makeStore: () => unknown, options: object = {}) =>
    recordingReceiver({ once: "record", store: makeStore() as DeliveryStore, ...options });

  test.each(makers)(
    "handles an alarm of a list once with %s, before its delivery",
    async (_, make) => {
      const { receiver, handled, reports } = byRecord(make);
      expect(await recoverListed(receiver)).toBe(HANDLED);
      expect(await recoverListed(receiver)).toBe(DUPLICATE);
      expect(await send(receiver, "late")).toBe(DUPLICATE);
      expect(handled).toEqual([alarm()]);
      expect(reports[0]).toMatchObject({ recovered: true });
      expect(reports[0]?.id).toMatch(/^list#[0-9a-f]{64}$/);
    },
  );

  test.each(makers)(
    "finds an alarm that was delivered with %s, also after it was closed",
    async (_, make) => {
      const { receiver, handled } = byRecord(make);
      expect(await send(receiver, "in-time")).toBe(HANDLED);
      const closed = { ...listed, record: alarm({ status: "CLOSED" }) };
      for (const given of [listed, closed])
        expect(await recoverListed(receiver, given)).toBe(DUPLICATE);
      expect(handled).toHaveLength(1);
    },
  );

  test("handles two events that differ in an unknown field, and one event once", async () => {
    const { receiver, handled } = byRecord(() => memoryStore());
    const listedEvent = (added: number): RecoverableRecord => ({
      type: "delete_my_data_event",
      record: onlineDataEvent("DATA_DELETED", { added }),
    });
    for (const added of [1, 2, 1]) await recoverListed(receiver, listedEvent(added));
    expect(handled).toHaveLength(2);
  });

  test("handles an event twice whose numbers have lost digits: in doubt none is lost", async () => {
    const { receiver, handled } = byRecord(() => memoryStore());
    const record = onlineDataEvent("DATA_DELETED", { added: 2 ** 60 });
    for (let times = 0; times < 2; times++) {
      await recoverListed(receiver, { type: "delete_my_data_event", record });
    }
    expect(handled).toHaveLength(2);
  });

  test("two receivers of one store with scopes of their own both handle an alarm", async () => {
    const store = memoryStore();
    for (const scope of ["stage", "production"]) {
      const once = { record: true, scope } as const;
      const { receiver } = byRecord(() => store, { once });
      expect(await recoverListed(receiver)).toBe(HANDLED);
    }
  });

  test.each([
    [{ type: "new_alarm", record: { id: 1 } }, "503 unrecognized"],
    [{ type: "delete_my_data_event", record: alarm() }, "503 unrecognized"],
    [{ type: "new_alarm", record: 1n }, "409 malformed"],
  ])("answers for %o: %s", async (given, answer) => {
    const { receiver } = byRecord(() => memoryStore());
    expect(await recoverListed(receiver, given as never)).toBe(answer);
  });

  test.each([
    [{ type: "alarm", record: alarm() }, "type must be one of new_alarm, delete_my_data_event"],
    [{ record: alarm() }, "type must be one of"],
    [null, "takes { type, record }"],
    ["new_alarm", "takes { type, record }"],
  ])("throws for %o, before anything is handled or logged", (given, message) => {
    const { receiver, reports } = byRecord(() => memoryStore());
    const error = configurationErrorOf(() => recoverRecord(receiver, given as never));
    expect([error.code, error.message]).toEqual([
      "invalid_option",
      expect.stringContaining(message),
    ]);
    expect(reports).toEqual([]);
  });

  test.each([
    ['a receiver with once: "record"', { store: memoryStore() }],
    ["the store of your deliveries", { once: "record" }],
    ["createWebhookReceiver", undefined],
  ] as const)("is refused without %s", (need, options) => {
    const handlers = { new_alarm: () => undefined };
    const receiver =
      options &&
      createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false, ...options });
    const error = configurationErrorOf(() => recoverRecord(receiver ?? ({} as never), listed));
    expect([error.code, error.message]).toEqual([
      "invalid_receiver",
      expect.stringContaining(need),
    ]);
  });
});
