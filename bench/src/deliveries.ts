import { createHmac, randomUUID } from "node:crypto";

/** The secret of every contender. Synthetic. */
export const SECRET = "whsec_test_0123456789abcdef";
/** The same key in the format of standardwebhooks and svix: a prefix and base64. */
export const ENCODED_SECRET = `whsec_${Buffer.from(SECRET).toString("base64")}`;

/** The bodies that are measured, by name. */
export const BODY_SIZES = { "250 B": 250, "1 KB": 1024, "16 KB": 16_384, "1 MB": 1_000_000 };
/** The name of a body size. */
export type BodySize = keyof typeof BODY_SIZES;

/** A body of the gateway, and its X-Webhook-Type. */
export interface Body {
  readonly type: "new_alarm" | "delete_my_data_event";
  readonly bytes: Buffer;
}

/** A synthetic body of exactly this many bytes: an Online Data event up to 300 bytes, else an alarm. */
export function bodyOf(size: BodySize): Body {
  const bytes = BODY_SIZES[size];
  return bytes < 300
    ? { type: "delete_my_data_event", bytes: padded(eventWith, bytes) }
    : { type: "new_alarm", bytes: padded(alarmWith, bytes) };
}

function padded(record: (filler: string) => object, bytes: number): Buffer {
  const missing = bytes - Buffer.byteLength(JSON.stringify(record("")));
  const body = Buffer.from(JSON.stringify(record(filler(missing))));
  if (body.length !== bytes) throw new Error(`a body of ${body.length} bytes, not ${bytes}`);
  return body;
}

const BREACHES = '{"breach":"Example","domain":"example.com","year":2019,"leaked":["email"]},';

/** Text of `length` bytes inside a JSON string: JSON, as in real alarms, then spaces. */
function filler(length: number): string {
  const escaped = JSON.stringify(BREACHES).length - 2;
  const count = Math.floor(length / escaped);
  return BREACHES.repeat(count) + " ".repeat(length - count * escaped);
}

function eventWith(text: string): object {
  return {
    event: {
      type: "DATA_REAPPEARED",
      severity: "WARNING",
      account_id: 42,
      client_id: "client-1",
      site_id: 7,
      site_name: `Broker${text.replaceAll('"', "'")}`,
      site_base_url: "https://broker.example",
      occurred_at: "2026-07-08T10:00:00+00:00",
    },
  };
}

function alarmWith(payload: string): object {
  return {
    alarm: {
      id: 1_000_001,
      text: "Email address found in a breach",
      account_id: 42,
      severity: "High",
      status: "NEW",
      source: "BreachDb",
      event_type: "email_hacked",
      category_id: 3,
      original_event_id: "evt-0000001",
      payload,
      date: "2026-07-08 10:00:00",
      checked_at: "2026-07-08 10:00:00",
      created_at: "2026-07-08 10:00:00",
      updated_at: "2026-07-08 10:00:00",
    },
  };
}

/** One flat string, as a server's parser makes it. V8 flattens a concatenated string at its first reading. */
function flat(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Unix seconds, which every scheme uses. */
export function nowSeconds(): string {
  return String(Math.floor(Date.now() / 1000));
}

/** A new delivery id, a UUID as the gateway sends it. */
export function newId(): string {
  return flat(randomUUID());
}

/** Lower-case hexadecimal HMAC-SHA256 of the concatenated parts. */
export function macHex(...parts: readonly (string | Uint8Array)[]): string {
  return parts.reduce((mac, part) => mac.update(part), createHmac("sha256", SECRET)).digest("hex");
}

/** The four headers that the gateway adds, with a new id. */
export function signedHeaders(body: Body, secret = SECRET): Record<string, string> {
  const id = newId();
  const timestamp = nowSeconds();
  const mac = createHmac("sha256", secret).update(`v1:${timestamp}:${id}:`).update(body.bytes);
  return {
    "x-webhook-type": body.type,
    "x-webhook-id": id,
    "x-webhook-timestamp": timestamp,
    "x-webhook-signature": flat(`v1=${mac.digest("hex")}`),
  };
}

/** The headers of a delivery in Node's format: the common headers of every sender, then the four. */
export function gatewayHeaders(body: Body, secret = SECRET): Record<string, string> {
  return {
    host: "partner.example",
    "user-agent": "identity-gateway",
    accept: "application/json",
    "content-type": "application/json",
    "content-length": String(body.bytes.length),
    ...signedHeaders(body, secret),
  };
}
