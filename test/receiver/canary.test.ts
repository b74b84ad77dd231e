import { inspect } from "node:util";
import { beforeEach, describe, expect, it, vi, type MockInstance } from "vitest";
import {
  AlarmPayloadError,
  DiscardDelivery,
  RetryLater,
  createWebhookReceiver,
  memoryStore,
  parseAlarmPayload,
  parseGatewayTime,
  signDelivery,
  verifySignature,
  type DeliveryStore,
  type LogDetails,
  type WebhookOutcome,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { CANARIES, canariesIn, canaryAlarm, canaryEvent, shownOf } from "../support/canaries.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { deferred } from "../support/deferred.js";
import {
  NO_TIME_TO_WAIT,
  NOW_SECONDS,
  delivery,
  type DeliveryOverrides,
} from "../support/deliveries.js";
import { rejects, throwing } from "../support/faults.js";
import { firstCall, spiedStore } from "../support/spied-store.js";
import { rejectionOf, thrownBy } from "../support/thrown.js";

const LEVELS = ["log", "info", "debug", "warn", "error", "trace"] as const;
const { secret, oldSecret, authorization, cookie, unsignedId, unsignedType } = CANARIES;
const { nationalId, email, iban } = CANARIES;

/** A genuine delivery full of canaries, also in headers that the library does not read. */
async function canaryDelivery(overrides: DeliveryOverrides = {}) {
  const body = JSON.stringify({ alarm: canaryAlarm() });
  const { headers, ...rest } = await delivery({ secret, body, ...overrides });
  return { ...rest, headers: { ...headers, authorization, cookie, "x-forwarded-for": cookie } };
}

type Canary = Awaited<ReturnType<typeof canaryDelivery>>;

/** The same delivery from a sender without the secret: its id and type are not trustworthy. */
async function forged(overrides: DeliveryOverrides = {}, changes: Record<string, unknown> = {}) {
  const { headers, ...rest } = await canaryDelivery({
    id: unsignedId,
    type: unsignedType,
    ...overrides,
  });
  return { ...rest, headers: { ...headers, ...changes } as Canary["headers"] };
}

interface Scene {
  readonly options?: Partial<WebhookReceiverOptions>;
  readonly play: (receiver: WebhookReceiver) => Promise<WebhookResponse>;
}

const receiving =
  (make: () => Promise<WebhookRequest>): Scene["play"] =>
  async (receiver) =>
    receiver.receive(await make());

const handling = (handler: () => unknown): Scene => ({
  options: { handlers: { new_alarm: handler } },
  play: receiving(canaryDelivery),
});

/** Receives a delivery while the handler of another one waits. */
const besideHeld =
  (first?: DeliveryOverrides): Scene["play"] =>
  async (receiver) => {
    const waiting = receiver.receive(await canaryDelivery(first));
    await claimed;
    const response = await receiver.receive({ ...(await canaryDelivery()), ...NO_TIME_TO_WAIT });
    held.resolve();
    await waiting;
    return response;
  };

/** How to cause each outcome, with canaries in everything that is sent. */
const SCENES: Readonly<Record<WebhookOutcome, Scene>> = {
  handled: handling(() => undefined),
  duplicate: {
    async play(receiver) {
      await receiver.receive(await canaryDelivery());
      return receiver.receive(await canaryDelivery());
    },
  },
  discarded: handling(throwing(new DiscardDelivery({ reason: "account is closed" }))),
  unhandled: {
    options: { handlers: { delete_my_data_event: { DATA_DELETED: () => undefined } } },
    async play(receiver) {
      await receiver.receive(await canaryDelivery());
      const event = canaryEvent("DATA_REAPPEARED");
      const type = "delete_my_data_event";
      return receiver.receive(await canaryDelivery({ type, body: JSON.stringify({ event }) }));
    },
  },
  in_flight: {
    ...handling(() => held.promise),
    play: besideHeld(),
  },
  reachable: {
    play: receiving(async () => ({ ...(await forged()), headers: {}, method: "HEAD" })),
  },
  method_not_allowed: { play: receiving(async () => ({ ...(await forged()), method: "PUT" })) },
  malformed: { play: receiving(() => forged({}, { "X-WEBHOOK-ID": CANARIES.nationalId })) },
  unsigned: { play: receiving(() => forged({}, { "x-webhook-signature": undefined })) },
  signature_mismatch: { play: receiving(() => forged({ secret: CANARIES.authorization })) },
  stale: { play: receiving(() => canaryDelivery({ timestamp: NOW_SECONDS - 301 })) },
  type_mismatch: { play: receiving(() => canaryDelivery({ type: "delete_my_data_event" })) },
  body_too_large: {
    options: { maxBodyBytes: 64 },
    play: receiving(forged),
  },
  body_timeout: {
    play: receiving(async () => ({
      ...(await forged()),
      body: new UnreadableBody("body_timeout", 12),
    })),
  },
  body_consumed: {
    play: receiving(async () => ({
      ...(await forged()),
      body: { alarm: canaryAlarm() } as unknown as string,
    })),
  },
  unrecognized: {
    options: { handlers: { delete_my_data_event: { DATA_DELETED: () => undefined } } },
    async play(receiver) {
      const type = "delete_my_data_event";
      const json = (...bodies: readonly unknown[]) => bodies.map((body) => JSON.stringify(body));
      const alarms = [
        `{ "alarm": ${nationalId}`,
        nationalId,
        new Uint8Array([...Buffer.from(email), 0xff]),
        ...json(
          email,
          { [email]: nationalId },
          { alarm: nationalId },
          { alarm: [nationalId] },
          { alarm: canaryAlarm(), event: canaryEvent("DATA_DELETED") },
          { alarm: canaryAlarm({ id: nationalId, text: { [iban]: 1 } }) },
        ),
      ];
      const events = json(
        { event: canaryEvent(email) },
        { event: canaryEvent("DATA_DELETED", { site_id: iban }) },
        { event: canaryEvent("POWER_OF_ATTORNEY_SIGNED") },
        { event: canaryEvent("DATA_DELETED", { type: { [email]: iban } }) },
      );
      const bodies: readonly (readonly [string, string | Uint8Array])[] = [
        ...alarms.map((body) => ["new_alarm", body] as const),
        ...events.map((body) => [type, body] as const),
        ["monthly_report", JSON.stringify({ report: canaryAlarm() })],
      ];
      let response!: WebhookResponse;
      for (const [claimed, body] of bodies) {
        response = await receiver.receive(await canaryDelivery({ type: claimed, body }));
        expect(response.outcome).toBe("unrecognized");
      }
      return response;
    },
  },
  handler_failed: handling(throwing(new Error("database is away"))),
  handler_timeout: {
    options: { handlerTimeoutMs: 1, handlers: { new_alarm: () => held.promise } },
    async play(receiver) {
      const response = await receiver.receive(await canaryDelivery());
      held.resolve();
      await receiver.drain();
      return response;
    },
  },
  retry_later: handling(throwing(new RetryLater({ afterMs: 5_000 }))),
  overloaded: {
    options: { maxConcurrentDeliveries: 1, handlers: { new_alarm: () => held.promise } },
    play: besideHeld({ id: "first" }),
  },
  store_unavailable: {
    options: { store: { ...memoryStore(), claim: () => Promise.reject(new Error("no route")) } },
    play: receiving(canaryDelivery),
  },
  secret_unavailable: {
    options: { secret: () => ["", ` ${secret}`] },
    play: receiving(forged),
  },
  draining: {
    async play(receiver) {
      await receiver.drain();
      return receiver.receive(await forged());
    },
  },
  internal_error: {
    options: { now: throwing(new Error("no clock")) },
    play: receiving(canaryDelivery),
  },
};

let consoleSpies: MockInstance[] = [];
let held = deferred();
let claimed: Promise<void>;

/** Plays a scene and collects everything that leaves the receiver. */
async function collect({ options = {}, play }: Scene) {
  const spy = spiedStore({}, options.store ?? memoryStore());
  claimed = firstCall(spy.store, "claim");
  const { receiver, lines, reports } = recordingReceiver({
    secret: [oldSecret, secret],
    handlers: { new_alarm: () => undefined },
    ...options,
    store: spy.store,
  } as Partial<WebhookReceiverOptions>);
  const response = await play(receiver);
  return { response, lines, reports, spy, health: receiver.health() };
}

/** The hexadecimal digits of every signature that a scene may have sent. */
async function signaturesOf(): Promise<string[]> {
  const sent = [await canaryDelivery(), await forged(), await canaryDelivery({ body: "" })];
  return sent.map(({ headers }) => headers["x-webhook-signature"].slice("v1=".length));
}

beforeEach(() => {
  held = deferred();
  consoleSpies = LEVELS.map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
});

describe("canaries", () => {
  /** Everything that has left a receiver has no canary. */
  async function expectNone(...values: readonly unknown[]) {
    expect(canariesIn(shownOf(...values), await signaturesOf())).toEqual([]);
  }

  it.each(Object.keys(SCENES) as WebhookOutcome[])(
    "no canary leaves with outcome %s, also by the console",
    async (outcome) => {
      const scene = SCENES[outcome];
      const { response, lines, reports, health, spy: store } = await collect(scene);
      expect(response.outcome).toBe(outcome);
      expect(reports.some((report) => report.outcome === outcome)).toBe(true);
      const { body, headers } = response;
      await expectNone(response, body, headers, lines, reports, health, store.calls);
      for (const spy of consoleSpies) expect(spy).not.toHaveBeenCalled();
      held = deferred();
      await collect({ ...scene, options: { ...scene.options, logger: console } });
      await expectNone(...consoleSpies.flatMap((spy) => spy.mock.calls as unknown[][]));
    },
  );

  it("no canary leaves the receiver if the store fails after the handler", async () => {
    let isDown = true;
    const fail = () => (isDown ? rejects() : Promise.resolve());
    const store: DeliveryStore = { ...memoryStore(), complete: fail, release: fail };
    const done = await collect({ options: { store }, play: receiving(canaryDelivery) });
    const failed = await collect({
      options: { store, handlers: { new_alarm: throwing(new Error("database is away")) } },
      play: receiving(() => canaryDelivery({ id: "another" })),
    });
    expect([done.response.status, failed.response.status]).toEqual([200, 500]);
    // Ends the retries, whose timers would outlive this file.
    isDown = false;
    // Each has one line about the field that is not documented.
    expect(done.lines).toHaveLength(2);
    expect(failed.lines).toHaveLength(3);
    await expectNone(done.lines, done.reports, failed.lines, failed.reports);
  });

  it.each(["malformed", "unsigned", "signature_mismatch", "stale", "type_mismatch"] as const)(
    "no canary leaves the receiver with outcome %s and unverifiable: reject",
    async (outcome) => {
      const options = { unverifiable: "reject" } as const;
      const { play } = SCENES[outcome];
      const { response, lines, reports } = await collect({ options, play });
      expect([400, 401]).toContain(response.status);
      await expectNone(response, lines, reports);
    },
  );

  it("no canary leaves the receiver with unsigned deliveries", async () => {
    const options = { secret: undefined, acceptUnsignedDeliveries: true } as const;
    const { response, lines, reports } = await collect({
      options,
      play: receiving(canaryDelivery),
    });
    expect(response.outcome).toBe("handled");
    await expectNone(response, lines, reports);
  });

  it("the canary search finds each canary in an error's hidden property", async () => {
    for (const canary of Object.values(CANARIES)) {
      const error = new Error("outer", {
        cause: Object.defineProperty({}, "hidden", { value: canary }),
      });
      expect(canariesIn(shownOf({ details: [error] }))).toContain(String(canary));
    }
    const [signature = ""] = await signaturesOf();
    expect(canariesIn(signature.toUpperCase(), [signature])).toEqual([signature]);
  });
});

it("a handler's error reaches onOutcome and the logger as the same object, and appears nowhere else", async () => {
  const error = new Error(`no account for ${CANARIES.nationalId}`);
  const { response, lines, reports } = await collect(handling(throwing(error)));
  expect(canariesIn(shownOf(response, response.body, response.headers))).toEqual([]);
  expect(reports[0]?.error).toBe(error);
  const [line] = lines.filter(({ level }) => level === "error");
  expect((line?.details as LogDetails | undefined)?.err).toBe(error);
  const withoutError = lines.map(({ message, details }) => ({
    message,
    details: { ...(details as LogDetails), err: undefined },
  }));
  expect(canariesIn(shownOf(withoutError))).toEqual([]);
});

const handlers = { new_alarm: () => undefined };
const receiverWithSecret = (given: unknown) =>
  createWebhookReceiver({ secret: given as string, handlers });

const schema = (issues: readonly { message: string }[] | Promise<never>) => ({
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: () => (issues instanceof Promise ? issues : { issues }),
  },
});

it.each<[string, () => unknown]>([
  ["a payload that is not JSON", () => parseAlarmPayload({ payload: `{ssn: ${nationalId}}` })],
  ["a truncated payload", () => parseAlarmPayload({ payload: `{"ssn": "${nationalId}` })],
  ["a payload of white space", () => parseAlarmPayload({ payload: " " })],
  [
    "a payload that the schema refuses",
    () => parseAlarmPayload({ payload: JSON.stringify({ email }) }, schema([{ message: email }])),
  ],
  [
    "an asynchronous schema",
    () => parseAlarmPayload({ payload: `"${iban}"` }, schema(Promise.reject(new Error(iban)))),
  ],
])("the printed error for %s quotes no personal data", (_why, run) => {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(AlarmPayloadError);
  const shown = [String(error), JSON.stringify(error), inspect(error, { depth: 20 })];
  expect(canariesIn(shown.join("\n"))).toEqual([]);
  expect((error as Error).cause).toBeUndefined();
});

it.each<[string, () => unknown]>([
  ["a time", () => parseGatewayTime(nationalId)],
  ["a date that does not exist", () => parseGatewayTime("1900-13-01 09:09:88")],
  ["a secret with white space", () => receiverWithSecret(`${secret}\n`)],
  ["a list with a secret with white space", () => receiverWithSecret([secret, ` ${oldSecret}`])],
  ["a list with a number", () => receiverWithSecret([secret, 7])],
  ["a secret for one type only", () => receiverWithSecret({ new_alarm: secret })],
  [
    "a secret for an unknown type",
    () => receiverWithSecret({ new_alarm: secret, delete_my_data_event: secret, other: oldSecret }),
  ],
  [
    "a secret together with acceptUnsignedDeliveries",
    () => createWebhookReceiver({ secret, acceptUnsignedDeliveries: true, handlers } as never),
  ],
  ["signing an invalid id", () => signDelivery({ secret, id: email, timestamp: 0, body: "" })],
  [
    "signing with an invalid secret",
    () => signDelivery({ secret: ` ${secret}`, id: "1", timestamp: 0, body: nationalId }),
  ],
  [
    "verifying with an invalid secret",
    () => verifySignature({ secret: [secret, `${oldSecret} `], headers: {}, body: nationalId }),
  ],
])("the error for %s holds no personal data and no secret", async (_why, run) => {
  const error = await rejectionOf(run);
  expect(error).toBeInstanceOf(Error);
  expect(canariesIn(shownOf(error))).toEqual([]);
});
