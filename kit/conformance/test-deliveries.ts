import type { WebhookType } from "../../src/delivery/headers.js";
import { isOnlineDataEventType } from "../../src/records/online-data-event.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { freshSeed, isMadeUp } from "../samples/sample-options.js";
import { signedDelivery } from "../signed-delivery.js";
import { linesOf, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

export { freshSeed };

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
  /** X-Webhook-Id. Default a new made-up id, which no receiver has seen. */
  readonly id?: string | undefined;
  readonly secret?: string | undefined;
  /** How many seconds ago it was signed, by the receiver's clock. Default 0. */
  readonly age?: number | undefined;
}

/** Makes a signed delivery. */
export type MakeDelivery = (changes?: DeliveryChanges) => Promise<Delivery>;

/** The settings that decide what is in a delivery. */
export type DeliverySettings = Pick<ConformanceSettings, "secret" | "types" | "now" | "accountIds">;

/** Makes a signed delivery for a receiver. */
export async function makeDelivery(
  { secret, types, now, accountIds }: DeliverySettings,
  changes: DeliveryChanges = {},
): Promise<Delivery> {
  const type = changes.type ?? types[0];
  const given = changes.body ?? sampleText(type === "new_alarm" ? type : "delete_my_data_event");
  const { method, headers, body } = await signedDelivery({
    type,
    body: typeof given === "string" ? withAccounts(given, accountIds) : given,
    secret: changes.secret ?? secret,
    timestamp: Math.floor(now() / 1000) - (changes.age ?? 0),
    ...(changes.id === undefined ? {} : { id: changes.id }),
  });
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { method, headers: linesOf(headers), body: bytes, id: headers["X-Webhook-Id"] };
}

/**
 * The JSON text of a sample record, with some fields changed. The others fit its `event_type` or `type`. Each call
 * gives a different record, since a handler may ignore an alarm that it already knows, even under another delivery id.
 */
export function sampleText(type: WebhookType, changes: Record<string, unknown> = {}): string {
  const seed = freshSeed();
  if (type === "new_alarm") {
    // By default one event_type, in ASCII: a case about neither must have the same result in each run.
    const given = changes["event_type"];
    const event_type = typeof given === "string" ? given : "email_hacked";
    const alarm = sampleAlarm({ event_type }, { seed });
    return JSON.stringify({ alarm: { ...alarm, ...changes } });
  }
  const given = String(changes["type"]);
  const named = isOnlineDataEventType(given) ? given : "DATA_REAPPEARED";
  const event = sampleOnlineDataEvent(named, {}, { seed });
  return JSON.stringify({ event: { ...event, ...changes } });
}

/** The JSON text with accounts of the receiver in place of made-up ones. An account that a case needs stays. */
function withAccounts(text: string, accountIds: readonly number[]): string {
  return text.replace(/(?<="account_id":"?)\d+(?="?[,}])/g, (digits) => {
    const own = accountIds[Number(digits) % accountIds.length];
    return own === undefined || !isMadeUp(Number(digits)) ? digits : String(own);
  });
}

/** The JSON text of an object with one more member at its beginning, which is given as JSON text. */
export function withMember(text: string, member: string): string {
  return `{${member},${text.slice(1)}`;
}

/** The JSON text of a delivery whose record has one more member at its beginning. */
export function withRecordMember(text: string, member: string): string {
  return text.replace(/^\{"\w+":\{/, (start) => `${start}${member},`);
}

/** Makes something of each item, several at a time. After a failure it starts no more, and then rejects. */
export async function inPool<Item, Made>(
  items: readonly Item[],
  size: number,
  make: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  const left = [...items.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      made[next[0]] = await make(next[1]);
    }
  };
  const workers = Array.from({ length: size }, () =>
    work().catch((error: unknown) => {
      left.length = 0;
      throw error;
    }),
  );
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return made;
}

/** Makes something of each item, as many at a time as a case may send independent requests. */
export function inGroups<Item, Made>(
  { settings }: { readonly settings: Pick<ConformanceSettings, "requestsAtOnce"> },
  items: readonly Item[],
  make: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> {
  return inPool(items, settings.requestsAtOnce, make);
}

/** Makes something of each item, all at the same time. */
export function each<Item, Made>(
  items: readonly Item[],
  make: (item: Item, at: number) => Promise<Made>,
): Promise<Made[]> {
  return Promise.all(items.map(make));
}
