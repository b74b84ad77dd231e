import { expect } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  memoryStore,
  type WebhookOutcome,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { CANARIES, canaryAlarm, canaryEvent } from "./canaries.js";
import { deferred } from "./deferred.js";
import { NO_TIME_TO_WAIT, NOW_SECONDS, delivery, type DeliveryOverrides } from "./deliveries.js";
import { throwing } from "./faults.js";
import { recordingReceiver } from "./recording-receiver.js";
import { firstCall, spiedStore } from "./spied-store.js";

const { secret, oldSecret, authorization, cookie, unsignedId, unsignedType } = CANARIES;
const { nationalId, email, iban } = CANARIES;

/** What the handlers of the scene that is played wait for, and its first claim. */
let held = deferred();
let claimed: Promise<void>;

/** A genuine delivery full of canaries, also in headers that the library does not read. */
export async function canaryDelivery(overrides: DeliveryOverrides = {}) {
  const body = JSON.stringify({ alarm: canaryAlarm() });
  const { headers, ...rest } = await delivery({ secret, body, ...overrides });
  return { ...rest, headers: { ...headers, authorization, cookie, "x-forwarded-for": cookie } };
}

type Canary = Awaited<ReturnType<typeof canaryDelivery>>;

/** The same delivery from a sender without the secret: its id and type are not trustworthy. */
export async function forged(
  overrides: DeliveryOverrides = {},
  changes: Record<string, unknown> = {},
) {
  const { headers, ...rest } = await canaryDelivery({
    id: unsignedId,
    type: unsignedType,
    ...overrides,
  });
  return { ...rest, headers: { ...headers, ...changes } as Canary["headers"] };
}

export interface Scene {
  readonly options?: Partial<WebhookReceiverOptions>;
  readonly play: (receiver: WebhookReceiver) => Promise<WebhookResponse>;
}

export const receiving =
  (make: () => Promise<WebhookRequest>): Scene["play"] =>
  async (receiver) =>
    receiver.receive(await make());

export const handling = (handler: () => unknown): Scene => ({
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
export const SCENES: Readonly<Record<WebhookOutcome, Scene>> = {
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
  retry_later: handling(throwing(new RetryLater())),
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

/** Plays a scene and collects everything that leaves the receiver. */
export async function collect({ options = {}, play }: Scene) {
  held = deferred();
  // A lease has all of its time left.
  const spy = spiedStore({}, options.store ?? memoryStore({ now: () => 0 }));
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
