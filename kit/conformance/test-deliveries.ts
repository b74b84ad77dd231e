import { randomInt } from "node:crypto";
import type { WebhookType } from "../../src/delivery/headers.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { signedDelivery } from "../signed-delivery.js";
import { linesOf, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** A signed delivery, to be sent unchanged or changed. */
export interface Delivery extends WireRequest {
  readonly id: string;
  readonly body: Uint8Array;
}

/** How a delivery differs from the default. */
export interface DeliveryChanges {
  /** X-Webhook-Type. Default the first type that the receiver is registered for. */
  readonly type?: string | undefined;
  /** Default a sample record of the type, different in each delivery. */
  readonly body?: string | Uint8Array | undefined;
  /** X-Webhook-Id. Default a random UUID, so that no receiver has seen it. */
  readonly id?: string | undefined;
  readonly secret?: string | undefined;
  /** How many seconds ago it was signed, by the receiver's clock. Default 0. */
  readonly age?: number | undefined;
}

/** Makes a signed delivery. */
export type MakeDelivery = (changes?: DeliveryChanges) => Promise<Delivery>;

/** Makes a signed delivery for a receiver. */
export async function makeDelivery(
  { secret, types, now }: Pick<ConformanceSettings, "secret" | "types" | "now">,
  changes: DeliveryChanges = {},
): Promise<Delivery> {
  const type = changes.type ?? types[0];
  const { method, headers, body } = await signedDelivery({
    type,
    body: changes.body ?? sampleText(type === "new_alarm" ? type : "delete_my_data_event"),
    secret: changes.secret ?? secret,
    timestamp: Math.floor(now() / 1000) - (changes.age ?? 0),
    ...(changes.id === undefined ? {} : { id: changes.id }),
  });
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { method, headers: linesOf(headers), body: bytes, id: headers["X-Webhook-Id"] };
}

/**
 * The JSON text of a sample record, with some fields changed. Each call gives a different record, since a
 * handler may ignore an alarm that it already knows, even under another delivery id.
 */
export function sampleText(type: WebhookType, changes: Record<string, unknown> = {}): string {
  const seed = freshSeed();
  if (type === "new_alarm") {
    // One event_type, in ASCII: a case about neither must have the same result in each run.
    const alarm = sampleAlarm({ event_type: "email_hacked" }, { seed });
    return JSON.stringify({ alarm: { ...alarm, ...changes } });
  }
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed });
  return JSON.stringify({ event: { ...event, ...changes } });
}

/** The JSON text of an object with one more member at its beginning, which is given as JSON text. */
export function withMember(text: string, member: string): string {
  return `{${member},${text.slice(1)}`;
}

/** The JSON text of a delivery whose record has one more member at its beginning. */
export function withRecordMember(text: string, member: string): string {
  return text.replace(/^\{"\w+":\{/, (start) => `${start}${member},`);
}

/** A random seed for a record. Its ids fit a 32-bit column. */
export function freshSeed(): number {
  return randomInt(1_000_000, 2_000_000_000);
}

/** Makes something of each item, all at the same time. */
export function each<Item, Made>(
  items: readonly Item[],
  make: (item: Item, at: number) => Promise<Made>,
): Promise<Made[]> {
  return Promise.all(items.map(make));
}
