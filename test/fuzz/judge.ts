import { isUtf8 } from "node:buffer";
import { createHmac } from "node:crypto";
import { EVENT_TYPES } from "../records/documented-values.js";

// A second reading of what the gateway and this package document. It imports nothing of the package, so that no
// mistake is on both sides.

/** A request as a server passes it. Any part may have any type. */
export interface JudgedRequest {
  readonly method?: unknown;
  readonly headers: unknown;
  readonly body: Uint8Array | string;
}

/** How a receiver is configured. */
export interface JudgeSettings {
  /** The secrets that may sign this X-Webhook-Type. */
  readonly secretsOf: (type: string) => readonly string[];
  readonly nowSeconds: number;
  readonly toleranceSeconds: number;
  readonly maxBodyBytes: number;
  /** Whether there is a handler of alarms. Default true. */
  readonly takesAlarms?: boolean;
  /** The event types with a handler. Default all. */
  readonly takesEvents?: readonly string[];
  /** Whether there is a handler of what is not recognized. Default false. */
  readonly takesUnrecognized?: boolean;
}

/** The handler that must run, and the record it must get. */
export interface JudgedRun {
  readonly handler: "new_alarm" | "delete_my_data_event" | "unrecognized";
  readonly id: string;
  readonly record: unknown;
}

/** What a request must lead to: this outcome, and this handler or none. */
interface Judgement {
  readonly outcome: string;
  /** Which of the answers that docs/answers.md has for the outcome. Default the first. */
  readonly answer?: number;
  readonly run?: JudgedRun;
}

type Fields = Record<string, unknown>;
type Kind = "integer" | "text" | "integer or null" | "text or null" | "null";

const ALARM: Readonly<Record<string, Kind>> = {
  ...allOf("integer", "id account_id category_id"),
  ...allOf("text", "text severity status source event_type original_event_id payload"),
  ...allOf("text", "date checked_at created_at updated_at"),
};
const EVENT = {
  ...allOf("text", "type severity client_id occurred_at"),
  ...allOf("integer", "account_id"),
};
const SITE = { ...allOf("integer", "site_id"), ...allOf("text", "site_name site_base_url") };
const NO_SITE = allOf("null", "site_id site_name site_base_url");
const ANY_SITE = {
  ...allOf("integer or null", "site_id"),
  ...allOf("text or null", "site_name site_base_url"),
};
const SIGNED = "POWER_OF_ATTORNEY_SIGNED";

function allOf(kind: Kind, fields: string): Record<string, Kind> {
  return Object.fromEntries(fields.split(" ").map((field) => [field, kind]));
}

/** X-Webhook-Signature of a delivery. */
export function sign(secret: string, timestamp: string, id: string, body: Uint8Array): string {
  const hmac = createHmac("sha256", secret).update(`v1:${timestamp}:${id}:`).update(body);
  return `v1=${hmac.digest("hex")}`;
}

/** The bytes of a body; a string is taken as UTF-8. */
export function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === "string" ? Buffer.from(body, "utf8") : body;
}

/** Value of a header without the spaces and tabs around it; undefined if absent, null if it is not one text. */
export function headerOf(headers: unknown, name: string): HeaderValue {
  const pairs: unknown[][] =
    headers instanceof Headers ? [...headers] : Object.entries(headers as Fields);
  const values = pairs
    .filter(([given]) => String(given).toLowerCase() === name)
    .flatMap(([, value]) => (value === undefined ? [] : (value as unknown)));
  if (values.length === 0) return undefined;
  const isOne = values.length === 1 || name === "x-webhook-signature";
  if (!isOne || !values.every((value) => typeof value === "string")) return null;
  return values.map((value) => value.replace(/^[ \t]+|[ \t]+$/g, "")).join(",");
}

/** Whether one of the secrets signed these headers and bytes, at any time. The type is not signed. */
export function isSigned(secrets: readonly string[], headers: unknown, body: Uint8Array): boolean {
  const { id, type, timestamp, signature } = headOf(headers);
  // A repeated header makes the whole of them unreadable.
  if (type === null || !isToken(id) || !isTimestamp(timestamp) || !isSignature(signature))
    return false;
  const given = signaturesIn(signature).map((one) => one.toLowerCase());
  return secrets.some((secret) => given.includes(sign(secret, timestamp, id, body)));
}

/** Judges the requests that one receiver gets, in their order. */
export class Judge {
  readonly #settings: JudgeSettings;
  readonly #handled = new Set<string>();

  constructor(settings: JudgeSettings) {
    this.#settings = settings;
  }

  judge({ method = "POST", headers, body }: JudgedRequest): Judgement {
    const { secretsOf, nowSeconds, toleranceSeconds, maxBodyBytes } = this.#settings;
    const verb = typeof method === "string" ? method.toUpperCase() : "";
    const isProbe = ["GET", "HEAD", "OPTIONS"].includes(verb);
    if (!isProbe && verb !== "POST") return { outcome: "method_not_allowed" };
    if (isProbe) {
      const head = headOf(headers);
      const marks = [head.id, head.timestamp, head.signature];
      const isReachable = marks.every((mark) => mark === undefined);
      return isReachable
        ? { outcome: "reachable", answer: verb === "OPTIONS" ? 1 : 0 }
        : { outcome: "malformed", answer: 1 };
    }
    const bytes = bytesOf(body);
    if (bytes.length > maxBodyBytes) return { outcome: "body_too_large" };

    const { id, type, timestamp, signature } = headOf(headers);
    const isRight = isToken(id) && isToken(type) && isTimestamp(timestamp);
    if (!isRight) return { outcome: "malformed" };
    if (signature === undefined) return { outcome: "unsigned" };
    if (!isSignature(signature)) return { outcome: "malformed" };
    if (!isSigned(secretsOf(type), headers, bytes)) return { outcome: "signature_mismatch" };
    if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) return { outcome: "stale" };
    const judgement = this.#judgeBody(bytes, type, id);
    if (judgement.run === undefined) return judgement;
    if (this.#handled.has(id)) return { outcome: "duplicate" };
    this.#handled.add(id);
    return judgement;
  }

  #judgeBody(bytes: Uint8Array, claimed: string, id: string): Judgement {
    const { takesAlarms = true, takesEvents, takesUnrecognized } = this.#settings;
    const body = jsonOf(bytes);
    const unrecognized: Judgement = takesUnrecognized
      ? { outcome: "handled", run: { handler: "unrecognized", id, record: body } }
      : { outcome: "unrecognized" };
    if (!isObject(body)) return unrecognized;
    const isAlarm = Object.hasOwn(body, "alarm");
    if (isAlarm === Object.hasOwn(body, "event")) return unrecognized;
    const handler = isAlarm ? "new_alarm" : "delete_my_data_event";
    if (claimed !== handler) return { outcome: "type_mismatch" };
    const record = isAlarm ? convert(body["alarm"], ALARM) : eventOf(body["event"]);
    if (record === undefined) return unrecognized;
    const type = String(record["type"]);
    const isTaken = isAlarm ? takesAlarms : (takesEvents?.includes(type) ?? true);
    if (isTaken) return { outcome: "handled", run: { handler, id, record } };
    // An event type that the gateway added later was not left out on purpose.
    const isKnown = isAlarm || EVENT_TYPES.includes(type);
    return isKnown ? { outcome: "unhandled" } : unrecognized;
  }
}

function headOf(headers: unknown) {
  return {
    id: headerOf(headers, "x-webhook-id"),
    type: headerOf(headers, "x-webhook-type"),
    timestamp: headerOf(headers, "x-webhook-timestamp"),
    signature: headerOf(headers, "x-webhook-signature"),
  };
}

type HeaderValue = string | null | undefined;

const isToken = (text: HeaderValue): text is string => /^[0-9A-Za-z._-]{1,128}$/.test(text ?? "");
const isTimestamp = (text: HeaderValue): text is string => /^[0-9]{1,12}$/.test(text ?? "");
const isSignature = (text: HeaderValue): text is string => signaturesIn(text ?? "").length > 0;

/** The signatures of the scheme v1 in a list of at most eight, of which each has a scheme. */
function signaturesIn(text: string): readonly string[] {
  const list = /^[\w.-]+=[!-+\--~]*(?:(?: *, *| +)[\w.-]+=[!-+\--~]*){0,7}$/;
  return list.test(text)
    ? text.split(/[ ,]+/).filter((one) => /^v1=[0-9A-Fa-f]{64}$/.test(one))
    : [];
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON of a body. Undefined if it is not JSON in UTF-8; one byte order mark may stand before it. */
function jsonOf(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(
      Buffer.from(bytes)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
    );
  } catch {
    return undefined;
  }
}

function eventOf(event: unknown): Fields | undefined {
  const type = isObject(event) ? event["type"] : undefined;
  if (type === SIGNED) return convert(event, { ...EVENT, ...NO_SITE });
  const isKnown = EVENT_TYPES.includes(type as string);
  return convert(event, { ...EVENT, ...(isKnown ? SITE : ANY_SITE) });
}

/** The record with its documented fields converted and all others as sent. Undefined if a field has another shape. */
function convert(sent: unknown, fields: Readonly<Record<string, Kind>>): Fields | undefined {
  if (!isObject(sent)) return undefined;
  const record = { ...sent };
  for (const [field, kind] of Object.entries(fields)) {
    const value = Object.hasOwn(sent, field) ? sent[field] : undefined;
    const converted = kind.startsWith("integer") ? integerOf(value) : textOf(value);
    if (converted !== undefined && kind !== "null") record[field] = converted;
    else if (value !== null || !kind.endsWith("null")) return undefined;
  }
  return record;
}

/** An integer, or digits, if no digit is lost. */
function integerOf(value: unknown): number | undefined {
  const isDigits = typeof value === "string" && /^-?[0-9]{1,16}$/.test(value);
  const number = isDigits ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

/** A text, or a number that JSON can hold without loss. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
