/** Request headers: a `Headers` object, or a record in any letter case. */
export type WebhookHeaders = { get(name: string): string | null } | HeaderRecord;

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers that a signature is made of (GATEWAY.md, "Authentication", rule 7). */
export interface SignedHeaders {
  /** X-Webhook-Id. */
  id: string;
  /** X-Webhook-Timestamp, the exact text: it is part of what is signed. */
  timestamp: string;
  /** The same moment in Unix milliseconds. */
  timestampMs: number;
  /** X-Webhook-Signature, any text (`isSignature`); undefined where the delivery is not signed. */
  signature: string | undefined;
}

/** The four webhook headers (GATEWAY.md, "Events"). */
export interface DeliveryHeaders extends SignedHeaders {
  /** X-Webhook-Type. Not signed, so it is only a claim until the signed body agrees. */
  type: string;
}

const MAX_TIMESTAMP_LENGTH = 12;
const DIGIT_ZERO = 0x30;
/**
 * No colon: the signed string is joined with colons, so with one in an id a single captured delivery
 * could be cut into hundreds of other "signed" ones. ASCII alone, since a backend may take only the
 * low byte of a character. The type shares the grammar.
 */
const NO_TOKEN = /[^0-9A-Za-z._-]/;
const MAX_TOKEN_LENGTH = 128;
const WEBHOOK_HEADERS = 4;
const SIGNATURE = /^v1=[0-9A-Fa-f]{64}$/;

/** Whether `text` can be an X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. */
export function isDeliveryId(text: unknown): text is string {
  return isToken(text);
}

/** Whether `text` can be an X-Webhook-Timestamp: 1 to 12 digits. */
export function isDeliveryTimestamp(text: unknown): text is string {
  return typeof text === "string" && !Number.isNaN(readTimestamp(text));
}

/** The moment of an X-Webhook-Timestamp, 1 to 12 digits of Unix seconds, in milliseconds; NaN for all else. */
export function readTimestamp(text: string): number {
  if (text === "" || text.length > MAX_TIMESTAMP_LENGTH) return Number.NaN;
  let seconds = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - DIGIT_ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    seconds = seconds * 10 + digit;
  }
  return seconds * 1000;
}

/**
 * By what may not be in it, which is found in half the time that a match of the whole takes. The type
 * first: `test` alone takes a list of one text for that text.
 */
function isToken(text: unknown): text is string {
  return (
    typeof text === "string" &&
    text !== "" &&
    text.length <= MAX_TOKEN_LENGTH &&
    !NO_TOKEN.test(text)
  );
}

/**
 * The webhook headers, or undefined where one is missing (the signature may be), repeated or malformed.
 * The grammar of a signature is not judged here: one that matches has it, and the others are asked.
 */
export function readDeliveryHeaders(headers: WebhookHeaders): DeliveryHeaders | undefined {
  const texts = findTexts(headers);
  return texts && judge(texts);
}

/** The same whatever the type is, which no signature covers. */
export function readSignedHeaders(headers: WebhookHeaders): SignedHeaders | undefined {
  const texts = findTexts(headers);
  return texts && judge({ ...texts, type: "new_alarm" });
}

function judge(texts: HeaderTexts): DeliveryHeaders | undefined {
  const id = trimmed(texts.id);
  const timestamp = trimmed(texts.timestamp);
  const type = trimmed(texts.type);
  const signature = trimmed(texts.signature);
  if (!isDeliveryId(id) || typeof timestamp !== "string") return undefined;
  const timestampMs = readTimestamp(timestamp);
  if (Number.isNaN(timestampMs)) return undefined;
  // The documented types are tokens, and known in a third of the time.
  if (type !== "new_alarm" && type !== "delete_my_data_event" && !isToken(type)) return undefined;
  if (typeof signature !== "string" && signature !== undefined) return undefined;
  return { id, timestamp, timestampMs, type, signature };
}

/** Without the spaces and tabs around it, which are no part of a header's value (RFC 9110, section 5.5). */
function trimmed(text: unknown): unknown {
  if (typeof text !== "string") return text;
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return end - start === text.length ? text : text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Whether `text` can be an X-Webhook-Signature: `v1=` and 64 hexadecimal digits of any letter case. */
export function isSignature(text: string): boolean {
  return SIGNATURE.test(text);
}

function findTexts(headers: WebhookHeaders | null | undefined): HeaderTexts | undefined {
  // A serverless event may have null where it has no headers.
  if (headers === null || headers === undefined) return undefined;
  return isHeadersObject(headers) ? readHeadersObject(headers) : readRecord(headers);
}

/** What was found under each name, before the grammar; undefined where there is none. */
interface HeaderTexts {
  id: unknown;
  timestamp: unknown;
  type: unknown;
  signature: unknown;
}

function isHeadersObject(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === "function";
}

/** A header given twice comes joined with a comma here, which no grammar above lets through. */
function readHeadersObject(headers: { get(name: string): unknown }): HeaderTexts {
  return {
    id: headers.get("x-webhook-id") ?? undefined,
    timestamp: headers.get("x-webhook-timestamp") ?? undefined,
    type: headers.get("x-webhook-type") ?? undefined,
    signature: headers.get("x-webhook-signature") ?? undefined,
  };
}

/**
 * Undefined where a webhook header is given twice, be it in an array or in two letter cases. All four
 * in lower case, as Node gives them, are looked up by name: that takes a tenth of the time of names
 * that are not known before, and lower-casing every name would cost 0.5 µs a request.
 */
function readRecord(record: HeaderRecord): HeaderTexts | undefined {
  // `for in` names what is inherited too, which is no header.
  const own = isPlain(record) ? record : { ...record };
  let known = 0;
  for (const name in own) {
    if (!startsWithX(name)) continue;
    if (isWebhookHeader(name)) known += 1;
    else if (isWebhookHeader(name.toLowerCase())) return readAnyCase(own);
  }
  if (known < WEBHOOK_HEADERS) return readAnyCase(own);
  const id = own["x-webhook-id"];
  const timestamp = own["x-webhook-timestamp"];
  const type = own["x-webhook-type"];
  const signature = own["x-webhook-signature"];
  const areTexts =
    typeof id === "string" &&
    typeof timestamp === "string" &&
    typeof type === "string" &&
    typeof signature === "string";
  return areTexts ? { id, timestamp, type, signature } : readAnyCase(own);
}

/** The same for names in any case, and for headers that are not given as one text. */
function readAnyCase(record: HeaderRecord): HeaderTexts | undefined {
  const found = new Map<string, string>();
  for (const name in record) {
    const lower = name.toLowerCase();
    if (!isWebhookHeader(lower)) continue;
    const text = textOf(record[name]);
    if (text === undefined) continue;
    if (typeof text !== "string" || found.has(lower)) return undefined;
    found.set(lower, text);
  }
  return readHeadersObject(found);
}

/** Whether a record inherits nothing of its own making. */
function isPlain(record: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(record);
  return prototype === Object.prototype || prototype === null;
}

function isWebhookHeader(name: string): boolean {
  switch (name) {
    case "x-webhook-id":
    case "x-webhook-timestamp":
    case "x-webhook-type":
    case "x-webhook-signature":
      return true;
    default:
      return false;
  }
}

/** In either case. By the code, which takes a fifth of `startsWith`. */
function startsWithX(name: string): boolean {
  const first = name.charCodeAt(0);
  return first === 0x78 || first === 0x58;
}

/** The text of a header that is given once, be it as a list; a list of none is none. */
function textOf(given: string | readonly string[] | undefined): unknown {
  if (!Array.isArray(given)) return given;
  if (given.length === 0) return undefined;
  const [first] = given as readonly unknown[];
  return given.length === 1 && typeof first === "string" ? first : given;
}
