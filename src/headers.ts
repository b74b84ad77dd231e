/** Request headers: a `Headers` object, or a record in any letter case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers that a signature is made of (GATEWAY.md, "Authentication", rule 7). */
export interface SignedHeaders {
  /** X-Webhook-Id. */
  id: string;
  /** X-Webhook-Timestamp, the exact text: it is part of what is signed. */
  timestamp: string;
  /** The 32 bytes that stand in hexadecimal behind `v1=`; undefined where the delivery is not signed. */
  signature: Uint8Array<ArrayBuffer> | undefined;
}

/** The four webhook headers (GATEWAY.md, "Events"). */
export interface DeliveryHeaders extends SignedHeaders {
  /** X-Webhook-Type. Not signed, so it is only a claim until the signed body agrees. */
  type: string;
}

const MAX_TIMESTAMP_LENGTH = 12;
const NO_TIMESTAMP = /[^0-9]/;
/**
 * No colon: the signed string is joined with colons, so with one in an id a single captured delivery
 * could be cut into hundreds of other "signed" ones. ASCII alone, since a backend may take only the
 * low byte of a character. The type shares the grammar.
 */
const NO_TOKEN = /[^0-9A-Za-z._-]/;
const MAX_TOKEN_LENGTH = 128;
const SIGNATURE_PREFIX = "v1=";
const MAC_BYTES = 32;
/** The value of each hexadecimal digit by its code; of all other characters undefined or NO_DIGIT. */
const NO_DIGIT = 16;
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? NO_DIGIT : value;
});

/** Whether `text` can be an X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. */
export function isDeliveryId(text: unknown): text is string {
  return isMadeOf(text, NO_TOKEN, MAX_TOKEN_LENGTH);
}

/** Whether `text` can be an X-Webhook-Timestamp: 1 to 12 digits. */
export function isDeliveryTimestamp(text: unknown): text is string {
  return isMadeOf(text, NO_TIMESTAMP, MAX_TIMESTAMP_LENGTH);
}

/**
 * By what may not be in it, which is found in half the time that a match of the whole takes. The type
 * first: `test` alone takes a list of one text for that text.
 */
function isMadeOf(text: unknown, others: RegExp, maxLength: number): text is string {
  return typeof text === "string" && text !== "" && text.length <= maxLength && !others.test(text);
}

/** The webhook headers, or undefined where one is missing (the signature may be), repeated or malformed. */
export function readDeliveryHeaders(headers: WebhookHeaders): DeliveryHeaders | undefined {
  const texts = findTexts(headers);
  if (texts === undefined) return undefined;
  const { id, timestamp, type, signature } = texts;
  if (!isDeliveryId(id) || !isDeliveryTimestamp(timestamp)) return undefined;
  if (!isMadeOf(type, NO_TOKEN, MAX_TOKEN_LENGTH)) return undefined;
  if (signature === undefined) return { id, timestamp, type, signature };
  const mac = readSignature(signature);
  return mac && { id, timestamp, type, signature: mac };
}

/** The same without the type, which no signature covers. */
export function readSignedHeaders(headers: WebhookHeaders): SignedHeaders | undefined {
  const texts = findTexts(headers);
  if (texts === undefined) return undefined;
  const { id, timestamp, signature } = texts;
  if (!isDeliveryId(id) || !isDeliveryTimestamp(timestamp)) return undefined;
  if (signature === undefined) return { id, timestamp, signature };
  const mac = readSignature(signature);
  return mac && { id, timestamp, signature: mac };
}

/**
 * The bytes of `v1=` and 64 hexadecimal digits in any letter case; undefined for all else. Checked and
 * read in one pass: a regular expression alone takes 0.3 µs, as it branches on every digit, this 0.1.
 */
function readSignature(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string" || !text.startsWith(SIGNATURE_PREFIX)) return undefined;
  if (text.length !== SIGNATURE_PREFIX.length + 2 * MAC_BYTES) return undefined;
  const mac = new Uint8Array(MAC_BYTES);
  for (let byte = 0, at = SIGNATURE_PREFIX.length; byte < MAC_BYTES; byte++, at += 2) {
    const high = DIGITS[text.charCodeAt(at)] ?? NO_DIGIT;
    const low = DIGITS[text.charCodeAt(at + 1)] ?? NO_DIGIT;
    if (high === NO_DIGIT || low === NO_DIGIT) return undefined;
    mac[byte] = (high << 4) | low;
  }
  return mac;
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
function readHeadersObject(headers: { get(name: string): string | null }): HeaderTexts {
  return {
    id: headers.get("x-webhook-id") ?? undefined,
    timestamp: headers.get("x-webhook-timestamp") ?? undefined,
    type: headers.get("x-webhook-type") ?? undefined,
    signature: headers.get("x-webhook-signature") ?? undefined,
  };
}

/**
 * Undefined where a webhook header is given twice, be it in an array or in two letter cases. The lower
 * case, which Node gives, is known by itself: to lower-case every name would cost 0.5 µs a request.
 */
function readRecord(
  record: Readonly<Record<string, string | readonly string[] | undefined>>,
): HeaderTexts | undefined {
  // By place and not by name: a name that is not known before takes ten times as long to look up.
  const found: unknown[] = [undefined, undefined, undefined, undefined];
  // `for in` finds each value by its place, where Object.keys is followed by a look-up of the name:
  // 0.2 µs less. It names what is inherited too, which is no header.
  const own = isPlain(record) ? record : { ...record };
  for (const name in own) {
    if (!startsWithX(name)) continue;
    const place = placeOf(name);
    if (place === undefined) continue;
    const text = textOf(own[name]);
    if (text === undefined) continue;
    if (typeof text !== "string" || found[place] !== undefined) return undefined;
    found[place] = text;
  }
  const [id, timestamp, type, signature] = found;
  return { id, timestamp, type, signature };
}

/** Whether a record inherits nothing of its own making. */
function isPlain(record: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(record);
  return prototype === Object.prototype || prototype === null;
}

function placeOf(name: string): number | undefined {
  switch (name) {
    case "x-webhook-id":
      return 0;
    case "x-webhook-timestamp":
      return 1;
    case "x-webhook-type":
      return 2;
    case "x-webhook-signature":
      return 3;
    default:
      return placeInOtherCase(name);
  }
}

function placeInOtherCase(name: string): number | undefined {
  const lower = name.toLowerCase();
  return name === lower ? undefined : placeOf(lower);
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
