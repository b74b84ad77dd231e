import { randomInt } from "node:crypto";
import type { WebhookType } from "../../delivery/webhook-type.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { signedDelivery } from "../signed-delivery.js";
import { linesOf, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** A delivery that can be sent as it is, or changed first. */
export interface Delivery extends WireRequest {
  readonly id: string;
  readonly body: Uint8Array;
}

/** What of a delivery is wanted otherwise. */
export interface DeliveryWishes {
  /** Default the first type that the receiver is registered for, or the one of the body's text. */
  readonly type?: string | undefined;
  /** Default a sample of the type that no other delivery is of. */
  readonly body?: string | Uint8Array | undefined;
  /** Default a random UUID, so that no receiver has seen it before, and none twice. */
  readonly id?: string | undefined;
  readonly secret?: string | undefined;
  /** How long before the receiver's time it was built, in seconds. Default 0. */
  readonly age?: number | undefined;
}

/** Makes a signed delivery. */
export type Deliver = (wishes?: DeliveryWishes) => Promise<Delivery>;

/** Makes the deliveries to a receiver. */
export function createDeliver({
  secret,
  types,
  now,
}: Pick<ConformanceSettings, "secret" | "types" | "now">): Deliver {
  return async (wishes = {}) => {
    const type = wishes.type ?? types[0];
    const { method, headers, body } = await signedDelivery({
      type,
      body: wishes.body ?? sampleText(type === "new_alarm" ? type : "delete_my_data_event"),
      secret: wishes.secret ?? secret,
      timestamp: Math.floor(now() / 1000) - (wishes.age ?? 0),
      ...(wishes.id === undefined ? {} : { id: wishes.id }),
    });
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return { method, headers: linesOf(headers), body: bytes, id: headers["X-Webhook-Id"] };
  };
}

/**
 * The JSON text of a sample record of a type, with some of its fields otherwise. Each call gives another
 * record: a handler may do nothing for an alarm that it knows, whatever the id of the delivery.
 */
export function sampleText(type: WebhookType, changes: Record<string, unknown> = {}): string {
  const seed = freshSeed();
  if (type === "new_alarm") {
    // Of one kind, and ASCII: a case that is about neither has to end the same in each run.
    const alarm = sampleAlarm({ event_type: "email_hacked" }, { seed });
    return JSON.stringify({ alarm: { ...alarm, ...changes } });
  }
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed });
  return JSON.stringify({ event: { ...event, ...changes } });
}

/** The seed of a record that was not sent before. Its ids are those of a 32-bit column. */
export function freshSeed(): number {
  return randomInt(1_000_000, 2_000_000_000);
}
