import {
  HEADERS,
  readTimestamp,
  type DeliveryHeaders,
  type HeaderKey,
  type HeaderName,
  type HeaderRow,
} from "./headers.js";

/** Request headers: a `Headers` object, or a record with names in any letter case. */
export type WebhookHeaders = HeadersObject | HeaderRecord;

type HeadersObject = { get(name: string): string | null };

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

export const HEADER_ROWS = Object.entries(HEADERS) as readonly (readonly [HeaderKey, HeaderRow])[];

const NAMED: readonly string[] = ["id", "timestamp", "type", "signature"] satisfies HeaderKey[];
const OTHER_KEYS = Object.keys(HEADERS).filter((key) => !NAMED.includes(key));

/** Adds those of the values whose headers no code knows by name: they only travel with the delivery. */
export function withOthers<Target extends object>(target: Target, values: object): Target {
  for (const key of OTHER_KEYS) Reflect.set(target, key, Reflect.get(values, key));
  return target;
}

const KEYS = new Map(HEADER_ROWS.map(([key, { name }]) => [name.toLowerCase(), key]));
/** They pass over most other headers of a request. */
const FIRST_LETTERS = new Set(
  HEADER_ROWS.flatMap(([, { name }]) => [name.charCodeAt(0), name.toLowerCase().charCodeAt(0)]),
);
const SIGNATURE_ROWS = HEADER_ROWS.filter(([, { ofSignature }]) => ofSignature);
/** In place of a value that is no text, or given twice, in an array or in two letter cases. No grammar allows it. */
const NO_TEXT = null;

/**
 * The headers of a delivery. Undefined if one that it needs is missing, repeated or against the grammar. The signature
 * may be missing, and its grammar is checked only after it has matched no secret.
 */
export function readDeliveryHeaders(headers: WebhookHeaders): DeliveryHeaders | undefined {
  const read = headersOf(findValues(headers));
  return typeof read === "string" ? undefined : read;
}

/** The headers with which a signature is checked. */
export type SignedHeaders = Pick<DeliveryHeaders, "id" | "timestamp" | "timestampMs" | "signature">;

/** The same for a signature alone, which does not cover X-Webhook-Type: any single one will do, or none. */
export function readSignedHeaders(headers: WebhookHeaders): SignedHeaders | undefined {
  const values = findValues(headers);
  const read = headersOf(values, SIGNATURE_ROWS);
  if (values.type === NO_TEXT) return undefined;
  return typeof read === "string" ? undefined : read;
}

/** The value found of each header, before its grammar is checked. */
function findValues(headers: WebhookHeaders | null | undefined): HeaderValues {
  const values = noValues();
  // A serverless event without headers may have null here.
  if (headers === null || headers === undefined) return values;
  if (isHeadersObject(headers)) {
    // A repeated header arrives joined with a comma, which the grammar refuses.
    for (const [name, key] of KEYS) values[key] = trimmed(headers.get(name) ?? undefined);
    return values;
  }
  const prototype: unknown = Object.getPrototypeOf(headers);
  // `for in` also names inherited properties, which are no headers.
  const own = prototype === Object.prototype || prototype === null ? headers : { ...headers };
  for (const name in own) {
    if (!FIRST_LETTERS.has(name.charCodeAt(0))) continue;
    const key = KEYS.get(name) ?? KEYS.get(name.toLowerCase());
    if (key === undefined) continue;
    const value = onlyValue(own[name]);
    if (value === undefined) continue;
    const isText = typeof value === "string" && values[key] === undefined;
    values[key] = isText ? trimmed(value) : NO_TEXT;
  }
  return values;
}

function isHeadersObject(headers: WebhookHeaders): headers is HeadersObject {
  return typeof headers.get === "function";
}

/** Value of a header sent once, also as a one-element array. An empty array counts as absent. */
function onlyValue(given: string | readonly string[] | undefined): unknown {
  if (!Array.isArray(given)) return given;
  if (given.length === 0) return undefined;
  const [first] = given as readonly unknown[];
  return given.length === 1 && typeof first === "string" ? first : NO_TEXT;
}

/** The text without the spaces and tabs around it, which are not part of a header value (RFC 9110, section 5.5). */
function trimmed(text: unknown): unknown {
  if (typeof text !== "string") return text;
  let start = 0;
  let end = text.length;
  while (start < end && (text[start] === " " || text[start] === "\t")) start += 1;
  while (end > start && (text[end - 1] === " " || text[end - 1] === "\t")) end -= 1;
  return end - start === text.length ? text : text.slice(start, end);
}

/** Every value of a header, in any letter case and any form. */
export function valuesOf(
  headers: WebhookHeaders | null | undefined,
  name: string,
): readonly unknown[] {
  if (headers === null || headers === undefined) return [];
  const lower = name.toLowerCase();
  const given = isHeadersObject(headers)
    ? [headers.get(lower)]
    : Object.entries(headers).flatMap(([key, value]) =>
        key.toLowerCase() === lower ? (value as unknown) : [],
      );
  return given.filter((value) => value !== undefined && value !== null);
}

/** The only value of a header; undefined if it is missing or repeated. */
export function headerText(headers: WebhookHeaders, name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name).flat();
  return typeof value === "string" && more.length === 0 ? value : undefined;
}

/** What is found of each header, of any kind, before the grammar is checked. */
export type HeaderValues = Record<HeaderKey, unknown> & { timestampMs: number };

const NO_VALUES: Partial<HeaderValues> = {};
// Not by `Object.fromEntries`, whose object takes ten times as long to copy.
for (const [key] of HEADER_ROWS) NO_VALUES[key] = undefined;
NO_VALUES.timestampMs = Number.NaN;

/** No value of any header. */
export function noValues(): HeaderValues {
  return { ...NO_VALUES } as HeaderValues;
}

/** The headers of these values, which it takes over, or the place of the first that makes the delivery malformed. */
export function headersOf(values: HeaderValues, rows = HEADER_ROWS): DeliveryHeaders | HeaderKey {
  for (const [key, { neededBy, fits }] of rows) {
    const value = values[key];
    if (neededBy === "delivery" ? !fits(value) : neededBy === "secret" && !isTextOrNone(value)) {
      return key;
    }
    if (neededBy === "none" && !fits(value)) values[key] = undefined;
  }
  values.timestampMs = readTimestamp(values.timestamp as string);
  return values as DeliveryHeaders;
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** The values under the names of their headers, in the given order. */
export function namedHeaders<Key extends HeaderKey>(
  values: Readonly<Record<Key, string>>,
): Readonly<Record<HeaderName<Key>, string>> {
  const entries = Object.entries(values) as [Key, string][];
  const named = entries.map(([key, value]) => [HEADERS[key].name, value]);
  return Object.fromEntries(named) as Record<HeaderName<Key>, string>;
}

/** The same with names in lower case, as Node has them. */
export function lowerCaseHeaders(
  values: Readonly<Partial<Record<HeaderKey, string>>>,
): Record<string, string> {
  const named = Object.entries(namedHeaders(values as Record<HeaderKey, string>));
  return Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value]));
}
