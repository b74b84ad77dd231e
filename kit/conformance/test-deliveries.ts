import { createHmac } from "node:crypto";
import { HEADERS, type WebhookType } from "../../src/delivery/headers.js";
import {
  isOnlineDataEventType,
  ONLINE_DATA_EVENT_TYPES,
} from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { freshSeed, isMadeUp } from "../samples/sample-options.js";
import { secretOf, signedDelivery } from "../signed-delivery.js";
import { headerOf, linesOf, type HeaderLine, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

export { freshSeed };

interface DeliveryParts extends WireRequest {
  readonly id: string;
  readonly body: Uint8Array;
  /** The receiver's secret for it, whoever signed it. */
  readonly secret: string;
}

/** A signed delivery, to be sent unchanged or changed. */
export class Delivery implements DeliveryParts {
  readonly id: string;
  readonly method: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Uint8Array;
  readonly chunked: boolean | undefined;
  readonly secret: string;

  constructor({ id, method, headers, body, chunked, secret }: DeliveryParts) {
    this.secret = secret;
    this.id = id;
    this.method = method;
    this.headers = headers;
    this.body = body;
    this.chunked = chunked;
  }

  /** The same with some parts changed, and its old signature. */
  with(changes: Partial<DeliveryParts>): Delivery {
    const { id, method, headers, body, chunked, secret } = this;
    return new Delivery({ id, method, headers, body, chunked, secret, ...changes });
  }

  /** Its headers in a request without a body. */
  bodyless(method: string): WireRequest & Pick<Delivery, "id"> {
    return { id: this.id, method, headers: this.headers };
  }

  /** The same with one header replaced by one line for each value. Without a value it is removed. */
  withHeader(name: string, ...values: readonly string[]): Delivery {
    const lower = name.toLowerCase();
    const others = this.headers.filter(([other]) => other.toLowerCase() !== lower);
    return this.with({ headers: [...others, ...values.map((value) => [name, value] as const)] });
  }

  /** The same with more header lines. */
  withMore(lines: readonly HeaderLine[]): Delivery {
    return this.with({ headers: [...this.headers, ...lines] });
  }

  /** The same with another body and its old signature. */
  withBody(body: string | Uint8Array): Delivery {
    return this.with({ body: typeof body === "string" ? new TextEncoder().encode(body) : body });
  }

  /** The same with the signature that a sender with this secret would make, by default the gateway. */
  signedWith(secret?: string): Delivery {
    return this.withHeader(SIGNATURE, `v1=${this.rightMac(secret).toString("hex")}`);
  }

  /** The signature that the gateway would send with it. */
  rightMac(secret = this.secret): Buffer {
    return macOf(secret, `v1:${this.header(TIMESTAMP)}:${this.header(ID)}:`, this.body);
  }

  /** The value of a header. Empty when it is missing. */
  header(name: string): string {
    return headerOf(this.headers, name) ?? "";
  }

  /** The body as text. */
  get text(): string {
    return new TextDecoder().decode(this.body);
  }
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

/** A request with its name for a message. */
export type Named<T> = readonly [name: string, request: T];

/** Deliveries, each with its name for messages. */
export type NamedDeliveries = readonly Named<Delivery>[];

/** Makes a signed delivery. */
export type MakeDelivery = (changes?: DeliveryChanges) => Promise<Delivery>;

/** The settings that decide what is in a delivery. */
export type DeliverySettings = Pick<
  ConformanceSettings,
  "secret" | "types" | "now" | "accountIds" | "leftOut"
>;

/** Makes a signed delivery for a receiver. */
export async function makeDelivery(
  { secret, types, now, accountIds, leftOut }: DeliverySettings,
  changes: DeliveryChanges = {},
): Promise<Delivery> {
  const type = changes.type ?? types[0];
  const own = secretOf(secret, type);
  const given = changes.body ?? sampleText(type === "new_alarm" ? type : "delete_my_data_event");
  const { method, headers, body } = await signedDelivery({
    type,
    body: typeof given === "string" ? withAccounts(handledKind(given, leftOut), accountIds) : given,
    secret: changes.secret ?? own,
    timestamp: Math.floor(now() / 1000) - (changes.age ?? 0),
    ...(changes.id === undefined ? {} : { id: changes.id }),
  });
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const lines = linesOf(headers);
  return new Delivery({ method, headers: lines, body: bytes, id: headers[ID], secret: own });
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

/** The JSON text of a sample record of the first of these types, with a text of ours in it. */
export function markedText([type]: readonly WebhookType[], text: string): string {
  return type === "new_alarm"
    ? sampleText(type, { text })
    : sampleText("delete_my_data_event", { client_id: text });
}

const KIND = /(?<="(?:event_type|type)":")\w+(?=")/;

/** The `event_type` of the alarm, or the `type` of the event, in the JSON text of a record. */
export function kindOf(text: string): string | undefined {
  return KIND.exec(text)?.[0];
}

/** The JSON text with another kind of record where the receiver leaves that one out. */
function handledKind(text: string, leftOut: readonly string[]): string {
  return text.replace(KIND, (kind) => {
    if (!leftOut.includes(kind)) return kind;
    const kinds = isOnlineDataEventType(kind) ? ONLINE_DATA_EVENT_TYPES : ALARM_EVENT_TYPES;
    return kinds.find((one) => !leftOut.includes(one)) ?? kind;
  });
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

/** A record with some fields changed, and its name for a message. */
export type ChangedRecord = readonly [
  type: WebhookType,
  name: string,
  changes: Record<string, unknown>,
];

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

/** Makes something of each item, all at the same time. */
export function each<Item, Made>(
  items: readonly Item[],
  make: (item: Item, at: number) => Promise<Made>,
): Promise<Made[]> {
  return Promise.all(items.map(make));
}

/** The names of the webhook headers. */
export const ID = HEADERS.id.name;
export const TIMESTAMP = HEADERS.timestamp.name;
export const TYPE = HEADERS.type.name;
export const SIGNATURE = HEADERS.signature.name;

/** HMAC-SHA256 over `prefix` and `body`. Unlike `signDelivery` it takes any secret and any header text. */
export function macOf(
  secret: string,
  prefix: string,
  body: Uint8Array = new Uint8Array(0),
): Buffer {
  return createHmac("sha256", secret).update(prefix).update(body).digest();
}

// A receiver cannot tell these requests from forgeries. They are genuine all the same if the receiver's side
// has made a mistake: a wrong secret, a wrong clock, a proxy that changes requests.

/** A secret that the receiver does not have. */
export const OTHER_SECRET = "whsec_of_another_webhook";

/** Signed with a secret that the receiver does not have. */
export const wrongSecret = async (deliver: MakeDelivery): Promise<Named<Delivery>> => [
  "another secret",
  await deliver({ secret: OTHER_SECRET }),
];

/** Without a signature. */
export const unsignedRequest = async (deliver: MakeDelivery): Promise<Named<Delivery>> => [
  "no signature",
  (await deliver()).withHeader(SIGNATURE),
];

/** As it leaves a proxy that parses JSON and serializes it again. */
export const reserializedBody = async (deliver: MakeDelivery): Promise<Named<Delivery>> => {
  const { text } = await deliver();
  return ["re-serialized JSON", (await deliver({ body: `${text}\n` })).withBody(text)];
};

/** Signed an hour before and an hour after the receiver's time. */
export const driftedClock = async (deliver: MakeDelivery): Promise<NamedDeliveries> => [
  ["an hour old", await deliver({ age: 3_600 })],
  ["an hour ahead", await deliver({ age: -3_600 })],
];

/** Each without one of its headers. */
export const missingHeaders = (
  deliver: MakeDelivery,
  names = [ID, TIMESTAMP, TYPE],
): Promise<NamedDeliveries> =>
  each(names, async (name) => [`no ${name}`, (await deliver()).withHeader(name)] as const);
