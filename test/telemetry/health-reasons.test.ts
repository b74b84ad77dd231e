import { describe, expect, it } from "vitest";
import { UnreadableBody } from "../../src/delivery/request.js";
import { HEALTH_REASON_CODES, HEALTH_REASONS } from "../../src/telemetry/health-reasons.js";
import {
  DiscardDelivery,
  RetryLater,
  type HealthReasonCode,
  type SecretFunction,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { deferred, never } from "../support/deferred.js";
import type { QueueState } from "../../src/telemetry/telemetry.js";
import { onlineDataEvent, TEST_SECRET, NO_TIME_TO_WAIT } from "../support/deliveries.js";
import { EVENT, Monitored, type Sent } from "../support/monitored-receiver.js";
import { spiedStore } from "../support/spied-store.js";

const WRONG_SECRET: Sent = { secret: "another secret of 20" };
const STALE: Sent = { offMs: -3_600_000 };
const fail = (): Promise<never> => Promise.reject(new Error("made up"));
/** A vault that has the secret of alarms only. */
const oneSecret: SecretFunction = ({ type }) => (type === "new_alarm" ? TEST_SECRET : fail());
const noAlarmSecret: SecretFunction = ({ type }) => (type === "new_alarm" ? fail() : TEST_SECRET);
const REJECTING = { secret: oneSecret, unverifiable: "reject" } as const;

interface Scene {
  readonly options?: Partial<WebhookReceiverOptions>;
  /** What happens before. */
  readonly before?: (monitored: Monitored) => Promise<void>;
  /** Causes it once. */
  readonly cause: (monitored: Monitored) => Promise<unknown>;
  /** How many times cause it. */
  readonly times: number;
  /** Ends it. By default 16 minutes pass. */
  readonly cure?: (monitored: Monitored) => unknown;
}

const afterOne = (monitored: Monitored): Promise<void> => monitored.sendMany(1);
const whenHandlersFail = async (monitored: Monitored): Promise<void> => {
  await Promise.resolve();
  monitored.handler = fail;
};
const aDayLater = (monitored: Monitored): void => monitored.pass({ hours: 25 });
const goodOne = async (monitored: Monitored): Promise<void> => {
  monitored.handler = () => undefined;
  monitored.pass({ minutes: 16 });
  await monitored.send();
};

/** How each reason appears, and how it ends. Those with a clock, workers or a store have tests of their own. */
const SCENES: Partial<Record<HealthReasonCode, Scene>> = {
  all_refused: {
    cause: (monitored) => {
      monitored.pass({ minutes: 5 });
      return monitored.send(WRONG_SECRET);
    },
    times: 5,
    cure: goodOne,
  },
  mismatch_ratio: { cause: (monitored) => monitored.send(WRONG_SECRET), times: 5 },
  stale: { before: afterOne, cause: (monitored) => monitored.send(STALE), times: 3, cure: goodOne },
  body_consumed: {
    cause: (monitored) =>
      monitored.send({ request: { body: new UnreadableBody("body_consumed", 0) } }),
    times: 3,
    cure: goodOne,
  },
  secret_unavailable: {
    options: { secret: fail },
    cause: (monitored) => monitored.send(),
    times: 3,
  },
  store_failing: {
    options: { store: spiedStore({ claim: fail }).store },
    cause: (monitored) => monitored.send(),
    times: 3,
  },
  handlers_failing: {
    before: whenHandlersFail,
    cause: (monitored) => monitored.send(),
    times: 5,
    cure: goodOne,
  },
  handlers_slow: {
    cause: (monitored) => {
      monitored.handler = () => {
        monitored.nowMs += 10_001;
        return Promise.resolve();
      };
      return monitored.send();
    },
    times: 3,
  },
  overloaded: {
    options: { maxConcurrentDeliveries: 1 },
    before(monitored) {
      const started = deferred();
      monitored.handler = () => (started.resolve(), never());
      void monitored.send();
      return started.promise;
    },
    cause: (monitored) => monitored.send({ request: NO_TIME_TO_WAIT }),
    times: 5,
  },
  duplicates: {
    before: (monitored) => monitored.sendMany(1, { id: "again" }),
    cause: (monitored) => monitored.send({ id: "again" }),
    times: 5,
  },
  disconnects: {
    cause: (monitored) => monitored.send({ request: { isDisconnected: () => true } }),
    times: 3,
  },
  last_attempts_refused: {
    before: whenHandlersFail,
    cause: (monitored) => {
      const created_at = new Date(monitored.nowMs - 21_693_000).toISOString();
      return monitored.send({ record: { created_at } });
    },
    times: 1,
  },
  types_lost: { cause: (monitored) => monitored.send(EVENT), times: 1, cure: aDayLater },
  unhandled_types: {
    options: { handlers: { delete_my_data_event: { DATA_REAPPEARED: () => undefined } } },
    cause: (monitored) => monitored.send(EVENT),
    times: 3,
    cure: aDayLater,
  },
  schema_drift: {
    cause: (monitored) => monitored.send({ record: { severity: "Critical" } }),
    times: 3,
    cure: aDayLater,
  },
};

describe("each reason", () => {
  it.each(Object.entries(SCENES))(
    "%s appears at its count and not before, and ends",
    async (code, scene) => {
      const monitored = new Monitored(scene.options);
      await scene.before?.(monitored);
      for (let time = 1; time < scene.times; time += 1) {
        await scene.cause(monitored);
        expect(monitored.codes(), `after ${String(time)}`).toEqual([]);
      }
      await scene.cause(monitored);
      const { status, reasons } = monitored.health();
      const { advice, status: severity } = HEALTH_REASONS[code as HealthReasonCode];
      expect(reasons).toEqual([
        { code, since: expect.any(String) as string, count: scene.times, advice },
      ]);
      expect(status).toBe(severity);
      if (scene.cure !== undefined) await scene.cure(monitored);
      else monitored.pass({ minutes: 16 });
      // A run goes on until one delivery shows that it is over.
      const goesOn = ["store_failing", "secret_unavailable"].includes(code);
      expect(monitored.codes()).toEqual(goesOn ? [code] : []);
    },
  );

  it("mismatch_ratio is one of five requests, also before the first authentic one", async () => {
    const monitored = new Monitored();
    await monitored.sendMany(20);
    for (let time = 0; time < 4; time += 1) await monitored.send(WRONG_SECRET);
    await monitored.send();
    await monitored.send(WRONG_SECRET);
    expect(monitored.codes()).toEqual([]);
    await monitored.send(WRONG_SECRET);
    expect(monitored.health()).toMatchObject({
      status: "degraded",
      reasons: [{ code: "mismatch_ratio", count: 6 }],
    });
    monitored.pass({ minutes: 16 });
    expect(monitored.codes()).toEqual([]);
  });

  it("failures that come hours apart are found in a row, although no 15 minutes have two of them", async () => {
    const monitored = new Monitored();
    await monitored.send();
    for (let hour = 0; hour < 5; hour += 1) {
      expect(monitored.codes()).toEqual([]);
      monitored.pass({ hours: 4 });
      await monitored.send(WRONG_SECRET);
    }
    expect(monitored.codes()).toEqual(["all_refused"]);
    monitored.pass({ hours: 12 });
    const [reason] = monitored.health().reasons;
    expect(reason?.since).toBe(new Date(monitored.nowMs - 28 * 3_600_000).toISOString());
    await monitored.send();
    expect(monitored.codes()).toEqual([]);
  });

  // The status is that of the worst reason.
  it.each<[string, Sent]>([
    ["with a wrong secret", WRONG_SECRET],
    ["whose X-Webhook-Id a proxy strips", { headers: { "x-webhook-id": undefined } }],
    ["whose X-Webhook-Type a proxy strips", { headers: { "x-webhook-type": undefined } }],
  ])("six hours of refused deliveries %s are failing after one good delivery", async (_, sent) => {
    const monitored = new Monitored();
    await monitored.send();
    for (let minute = 0; minute < 360; minute += 1) {
      monitored.pass({ minutes: 1 });
      await monitored.send(sent);
      // The gateway has not given up the first one by then.
      if (minute === 15) expect(monitored.health().status).toBe("failing");
    }
    const since = new Date(monitored.nowMs - 359 * 60_000).toISOString();
    expect(monitored.health()).toMatchObject({
      status: "failing",
      reasons: [
        { code: "all_refused", count: 360, since },
        // Alone it is degraded.
        { code: "mismatch_ratio", count: 16 },
      ],
    });
    await monitored.send();
    expect(monitored.codes()).toEqual(["mismatch_ratio"]);
  });

  it("a type that is refused whole is failing until one of its own is authentic", async () => {
    const monitored = new Monitored();
    const wrongEvent: Sent = { ...EVENT, ...WRONG_SECRET };
    for (let minute = 0; minute < 20; minute += 1) {
      monitored.pass({ minutes: 1 });
      await monitored.sendMany(10);
      await monitored.send(wrongEvent);
    }
    expect(monitored.health().reasons).toMatchObject([{ code: "all_refused", count: 20 }]);
    await monitored.send({ ...EVENT, offMs: -3_600_000 });
    expect(monitored.codes()).toEqual([]);
  });

  it("refusals with an authentic delivery of the type every 15 minutes are never failing", async () => {
    const monitored = new Monitored();
    for (let minute = 0; minute < 100; minute += 1) {
      await monitored.send(minute % 15 === 0 ? {} : WRONG_SECRET);
      expect(monitored.health().status, String(minute)).not.toBe("failing");
      monitored.pass({ minutes: 1 });
    }
  });

  it.each<[string, Partial<WebhookReceiverOptions>]>([
    ["of another secret", {}],
    ["where the secret of the other type fails", { secret: oneSecret }],
    ["where the secret of the other type fails and a refusal is final", REJECTING],
    ["where all secrets fail", { secret: fail }],
  ])("requests of types that are not documented are no reason: %s", async (_, options) => {
    const monitored = new Monitored(options);
    const made = { ...WRONG_SECRET, type: "made_up" };
    await monitored.sendMany(20, made);
    // An id of a probe makes no difference.
    await monitored.sendMany(20, { ...made, id: "probe-1" });
    await monitored.sendMany(20, { ...made, headers: { "x-webhook-signature": undefined } });
    await monitored.sendMany(20, { ...made, headers: { "x-webhook-timestamp": undefined } });
    monitored.pass({ minutes: 60 });
    await monitored.send({ ...made, type: "constructor" });
    expect(monitored.health()).toMatchObject({ status: "ok", reasons: [] });
  });

  it("a request of a type that is not documented does not end the failures of a documented one", async () => {
    const monitored = new Monitored({ secret: noAlarmSecret });
    for (let time = 0; time < 3; time += 1) {
      await monitored.send();
      await monitored.sendMany(20, { ...WRONG_SECRET, type: "made_up" });
    }
    expect(monitored.health().reasons).toMatchObject([{ code: "secret_unavailable", count: 3 }]);
  });

  it("a broken secret function is degraded at once, and failing after 15 minutes", async () => {
    const monitored = new Monitored({
      secret: noAlarmSecret,
      handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
    });
    await monitored.sendMany(3);
    expect(monitored.health()).toMatchObject({
      status: "degraded",
      reasons: [{ code: "secret_unavailable" }],
    });
    for (let time = 0; time < 3; time += 1) {
      monitored.pass({ minutes: 5 });
      // The secret of the other type is there.
      await monitored.send({ ...EVENT, id: "again" });
      await monitored.send();
    }
    expect(monitored.health()).toMatchObject({
      status: "failing",
      reasons: [
        { code: "all_refused", count: 6 },
        { code: "secret_unavailable", count: 6 },
      ],
    });
  });

  it("a few failures among many good requests are no reason", async () => {
    const monitored = new Monitored();
    await monitored.sendMany(120);
    await monitored.sendMany(2, STALE);
    await monitored.sendMany(5, { id: "delivery-1" });
    await monitored.sendMany(3, { request: { isDisconnected: () => true } });
    monitored.handler = fail;
    await monitored.sendMany(4);
    expect(monitored.health()).toMatchObject({ status: "ok", reasons: [] });
  });

  it("handlers that ask for a later attempt, or take exactly half of their time-out, are no reason", async () => {
    const monitored = new Monitored();
    monitored.handler = () => Promise.reject(new RetryLater());
    await monitored.sendMany(20);
    expect(monitored.codes()).toEqual([]);
    monitored.handler = () => {
      monitored.nowMs += 10_000;
      return Promise.resolve();
    };
    await monitored.sendMany(10);
    expect(monitored.health()).toMatchObject({ reasons: [], ratios: { slowHandlers: 0 } });
  });

  it("requests without webhook headers, probes and other methods are no reason", async () => {
    const { receiver } = new Monitored();
    for (const method of ["POST", "GET", "PUT"]) {
      for (let time = 0; time < 50; time += 1)
        await receiver.receive({ method, headers: {}, body: "" });
    }
    expect(receiver.health()).toMatchObject({ status: "ok", reasons: [], lastAuthenticAt: null });
  });

  it("dead jobs, and jobs that wait for over ten minutes, are reasons as long as the queues have some", () => {
    const monitored = new Monitored();
    const read = (...queues: readonly QueueState[]) => monitored.receiver.health({ queues });
    monitored.health();
    monitored.pass({ hours: 3 });
    expect(read({ count: 9, oldestMs: 600_000, dead: 0 }, {})).toMatchObject({ status: "ok" });
    const late = { oldestMs: 600_001 };
    const { status, reasons } = read({ dead: 2, count: 3, ...late }, { dead: 1 }, late);
    expect(status).toBe("failing");
    const iso = (agoMs: number): string => new Date(monitored.nowMs - agoMs).toISOString();
    expect(reasons).toMatchObject([
      { code: "dead_jobs", count: 3, since: iso(0) },
      { code: "jobs_waiting", count: 4, since: iso(600_001) },
    ]);
    monitored.pass({ hours: 3 });
    expect(read({ dead: 1 }).reasons).toMatchObject([{ count: 1, since: reasons[0]?.since }]);
    expect(monitored.codes()).toEqual([]);
  });

  it.each([
    ["that ends and comes back", false],
    ["that was read, ended and comes back before the next read", true],
  ])("a reason %s has a new since", async (_how, isRead) => {
    const monitored = new Monitored();
    monitored.handler = fail;
    await monitored.sendMany(5);
    if (isRead) expect(monitored.codes()).toEqual(["handlers_failing"]);
    monitored.handler = () => undefined;
    monitored.pass({ hours: 1 });
    await monitored.send();
    monitored.handler = fail;
    monitored.pass({ minutes: 5 });
    const minute = new Date(monitored.nowMs).toISOString().slice(0, 16);
    await monitored.sendMany(5);
    expect(monitored.health().reasons).toMatchObject([
      { code: "handlers_failing", since: `${minute}:00.000Z` },
    ]);
  });
  it("a reason that lasts keeps its since", async () => {
    const monitored = new Monitored();
    monitored.handler = fail;
    const since = new Date(monitored.nowMs).toISOString();
    for (let minute = 0; minute < 60; minute += 1) {
      await monitored.send();
      monitored.pass({ minutes: 1 });
    }
    expect(monitored.health().reasons).toMatchObject([{ code: "handlers_failing", since }]);
  });
});

/** Handlers of one event type of seven, and of all alarms. */
const takesOne: Partial<WebhookReceiverOptions> = {
  handlers: {
    new_alarm: ({ text }) => {
      if (text === "discard") throw new DiscardDelivery();
    },
    delete_my_data_event: { DATA_DELETED: () => undefined },
  },
};
const UNREADABLE: Sent = { record: { account_id: undefined } };
const DISCARDED: Sent = { record: { text: "discard" } };
const NEW_TYPE: Sent = { type: "a_later_type", body: "{}" };

describe("a webhook type of which nothing is handled", () => {
  it.each<[string, Sent, number]>([
    ["unrecognized alarms", UNREADABLE, 5],
    ["unrecognized deliveries of a later type", NEW_TYPE, 5],
    ["discarded alarms", DISCARDED, 20],
  ])("%s are failing, until one of the type is handled", async (_, sent, times) => {
    const monitored = new Monitored(takesOne);
    const lost = () => monitored.health().reasons.filter(({ code }) => code === "types_lost");
    const since = new Date(monitored.nowMs).toISOString();
    for (let time = 1; time < times; time += 1) {
      await monitored.send(sent);
      expect(lost(), String(time)).toEqual([]);
      await monitored.send(EVENT);
      monitored.pass({ hours: 1 });
    }
    await monitored.send(sent);
    expect(lost()).toMatchObject([{ count: 1, since }]);
    expect(monitored.health().status).toBe("failing");
    // No time ends it, and no other type.
    monitored.pass({ hours: 100 });
    await monitored.send(EVENT);
    expect(lost()).toHaveLength(1);
    await monitored.send();
    expect(lost()).toHaveLength(sent === NEW_TYPE ? 1 : 0);
  });

  it("a handler that ends well after its time-out ends it", async () => {
    const held = deferred();
    const monitored = new Monitored({ handlerTimeoutMs: 1 });
    await monitored.sendMany(5, UNREADABLE);
    monitored.handler = () => held.promise;
    expect(await monitored.send()).toBe("handler_timeout");
    expect(monitored.codes()).toEqual(["types_lost"]);
    held.resolve();
    await monitored.receiver.drain();
    expect(monitored.codes()).toEqual([]);
  });

  it("one event type of seven that is handled, and half of the alarms discarded, are not failing", async () => {
    const monitored = new Monitored(takesOne);
    const dropped = JSON.stringify({ event: onlineDataEvent("DATA_REAPPEARED") });
    await monitored.sendMany(100, { ...EVENT, body: dropped });
    for (let time = 0; time < 40; time += 1) {
      await monitored.send(DISCARDED);
      if (time % 2 === 1) await monitored.send();
    }
    expect(monitored.health()).toMatchObject({
      status: "degraded",
      reasons: [{ code: "unhandled_types", count: 100 }],
    });
  });
});

it("every reason has one sentence of advice, and every reason has a test", () => {
  const own = ["silence", "completions_pending", "dead_jobs", "jobs_waiting"];
  expect([...Object.keys(SCENES), ...own].sort()).toEqual([...HEALTH_REASON_CODES].sort());
  for (const { advice } of Object.values(HEALTH_REASONS)) {
    expect(advice).toMatch(/^[A-Z].*[^.]\.$/s);
  }
});
