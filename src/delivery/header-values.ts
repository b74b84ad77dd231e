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

const NAMED: readonly HeaderKey[] = ["id", "timestamp", "type", "signature"];
const OTHER_KEYS = (Object.keys(HEADERS) as HeaderKey[]).filter((key) => !NAMED.includes(key));

/** The table, with those that code knows by name first. */
export const HEADER_ROWS = [...NAMED, ...OTHER_KEYS].map((key): readonly [HeaderKey, HeaderRow] => [
  key,
  HEADERS[key],
]);

/** Adds those of the values whose headers no code knows by name: they only travel with the delivery. */
export function withOthers<Target extends object>(target: Target, values: object): Target {
  for (const key of OTHER_KEYS) Reflect.set(target, key, Reflect.get(values, key));
  return target;
}

const ROW_OF = new Map(HEADER_ROWS.map(([, { name }], row) => [name.toLowerCase(), row]));
/** By character code. They pass over most other headers of a request. */
const IS_FIRST_LETTER: (true | undefined)[] = [];
for (const [, { name }] of HEADER_ROWS) {
  IS_FIRST_LETTER[name.toLowerCase().charCodeAt(0)] = true;
  IS_FIRST_LETTER[name.toUpperCase().charCodeAt(0)] = true;
}
const ROWS = HEADER_ROWS.map(([key, row]) => ({ key, ...row }));
const NO_VALUES = HEADER_ROWS.map(() => undefined);
/**
 * In place of a header that is given twice, in an array or in two letter cases, unless it is a list of texts. No grammar
 * allows it, nor any other value that is no text.
 */
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
  const read = headersOf(values, true);
  if (values[NAMED.indexOf("type")] === NO_TEXT) return undefined;
  return typeof read === "string" ? undefined : read;
}

/** The value found of each header, in the order of the table, before its grammar is checked. */
function findValues(headers: WebhookHeaders | null | undefined): unknown[] {
  const values: unknown[] = NO_VALUES.slice();
  // A serverless event without headers may have null here.
  if (headers === null || headers === undefined) return values;
  if (isHeadersObject(headers)) {
    // A repeated header arrives joined with a comma, which only a list may have.
    for (const [name, row] of ROW_OF) values[row] = trimmed(headers.get(name) ?? undefined);
    return values;
  }
  const prototype: unknown = Object.getPrototypeOf(headers);
  // `for in` also names inherited properties, which are no headers.
  const own = prototype === Object.prototype || prototype === null ? headers : { ...headers };
  for (const name in own) {
    if (IS_FIRST_LETTER[name.charCodeAt(0)] === undefined) continue;
    const row = ROW_OF.get(name) ?? ROW_OF.get(name.toLowerCase());
    if (row === undefined) continue;
    const given = own[name];
    const value: unknown = typeof given === "string" ? given : oneValue(given, row);
    if (value === undefined) continue;
    const before = values[row];
    values[row] = before === undefined ? trimmed(value) : oneValue([before, value], row);
  }
  return values;
}

function isHeadersObject(headers: WebhookHeaders): headers is HeadersObject {
  return typeof headers.get === "function";
}

/** The value of a header: of a one-element array, or several joined if it is a list. An empty array counts as absent. */
function oneValue(given: unknown, row: number): unknown {
  if (!Array.isArray(given)) return given;
  if (given.length === 0) return undefined;
  const texts: readonly unknown[] = given;
  const isOne = texts.length === 1 || ROWS[row]?.isList === true;
  return isOne && texts.every((text) => typeof text === "string")
    ? texts.map(trimmed).join(", ")
    : NO_TEXT;
}

/** The text without the spaces and tabs around it, which are not part of a header value (RFC 9110, section 5.5). */
export function trimmed(text: unknown): unknown {
  if (typeof text !== "string") return text;
  let start = 0;
  let end = text.length;
  // Outside the text there is no character code, so both end there.
  while (isSpace(text.charCodeAt(start))) start += 1;
  while (isSpace(text.charCodeAt(end - 1))) end -= 1;
  return end - start === text.length ? text : text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
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

/**
 * The headers of these values, which are in the order of the table, or the place of the first that makes the delivery
 * malformed. `isSignature`: only those that a signature is checked with are looked at.
 */
export function headersOf(values: unknown[], isSignature = false): DeliveryHeaders | HeaderKey {
  let row = -1;
  for (const { key, neededBy, fits, ofSignature } of ROWS) {
    row += 1;
    if (isSignature && !ofSignature) continue;
    const value = values[row];
    if (neededBy === "secret" ? isTextOrNone(value) : fits(value)) continue;
    if (neededBy !== "none") return key;
    values[row] = undefined;
  }
  // By index: taking a list apart makes an iterator, which takes 1 % of a delivery.
  const timestamp = values[1] as string;
  const read: Partial<DeliveryHeaders> = {
    id: values[0] as string,
    timestamp,
    type: values[2] as string,
    signature: values[3] as string | undefined,
    timestampMs: readTimestamp(timestamp),
  };
  row = NAMED.length;
  for (const key of OTHER_KEYS) Reflect.set(read, key, values[row++]);
  return read as DeliveryHeaders;
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
