import { HEADERS, isDeliveryId, isSignature, type HeaderKey } from "../../src/delivery/headers.js";
import { HEADER_ROWS } from "../../src/delivery/header-values.js";
import { headerClue, type Clue } from "./finding.js";
import type { GivenLine } from "./header-lines.js";

/** One reading of a header's text, with the clues that it assumes. */
export interface TextReading {
  readonly text: string;
  readonly clues: readonly Clue[];
}

/** The readings of each webhook header, the unchanged text first. An empty list means that the header is missing. */
export type HeaderReadings = Readonly<Record<HeaderKey, readonly TextReading[]>>;

/** More values are no accident, and each one multiplies the search. */
const MAX_VALUES = 4;

/** Finds the webhook headers in the lines of a request, also under names that a proxy has changed. */
export function readWebhookHeaders(lines: readonly GivenLine[]): HeaderReadings {
  const read = HEADER_ROWS.map(([key]) => [key, readHeader(key, lines)]);
  return Object.fromEntries(read) as HeaderReadings;
}

/** The unchanged text of each header. */
export function exactTexts(headers: HeaderReadings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    HEADER_ROWS.map(([key, { name }]) => [name, headers[key][0]?.text ?? ""]),
  );
}

function readHeader(key: HeaderKey, lines: readonly GivenLine[]): readonly TextReading[] {
  const wanted = HEADERS[key].name.toLowerCase();
  const exact = lines.filter(([name]) => name.toLowerCase() === wanted);
  const isRenamed = exact.length === 0;
  const found = isRenamed ? lines.filter(([name]) => originalName(name) === wanted) : exact;
  const renamed = "has another name, such as one with underscores or without X-";
  const clues = isRenamed ? [headerClue("header_renamed", key, renamed)] : [];
  // A receiver accepts only text, even if a number has the right digits.
  if (found.some(([, value]) => typeof value === "number")) {
    clues.push(headerClue("header_malformed", key, "is a number and must be text"));
  }
  const texts = found.map(([, value]) => String(value));
  const isList = key === "signature" && texts.length > 1;
  const values = isList ? [texts.join(", ")] : texts.flatMap((text) => partsOf(key, text));
  return values.slice(0, MAX_VALUES).flatMap((value, at) => {
    const what = `has ${values.length} values; the signature is over value ${at + 1}`;
    const repeated = values.length > 1 ? [headerClue("header_repeated", key, what)] : [];
    return cleaned(key, value, [...clues, ...repeated]);
  });
}

/** Undoes the changes that CGI, AWS and proxies make to names. `webhook-id` is the name in Standard Webhooks. */
function originalName(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replaceAll("_", "-")
    .replace(/^(?:http-|x-amzn-remapped-|x-forwarded-|x-original-)/, "");
  return plain.startsWith("webhook-") ? `x-${plain}` : plain;
}

/** The values that were joined into one text. Not for signatures, since some schemes use commas. */
function partsOf(key: HeaderKey, value: string): readonly string[] {
  if (key === "signature") return [value];
  const parts = value.split(/[,;\n]/, MAX_VALUES + 1).map((part) => part.trim());
  // An empty part comes from a stray comma. A date has commas too.
  return parts.every((part) => isDeliveryId(part)) && parts.length > 1 ? parts : [value];
}

/** The unchanged text, then the text without white space, invisible characters and quotes, and with plain dashes. */
function cleaned(key: HeaderKey, text: string, clues: readonly Clue[]): readonly TextReading[] {
  const plain = text.replaceAll(/[\s"'`“”‘’\p{Cf}]/gu, "").replaceAll(/[‐‑–]/gu, "-");
  if (plain === text) return [{ text, clues }];
  const what = "has white space, quotes, invisible characters or other dashes in or around it";
  return [
    { text, clues },
    { text: plain, clues: [...clues, headerClue("header_whitespace", key, what)] },
  ];
}

/** The headers that a receiver refuses whatever the signature: missing ones and those that break the grammar. */
export function refusedHeaders(headers: HeaderReadings): readonly Clue[] {
  const needed = HEADER_ROWS.filter(([, { neededBy }]) => neededBy !== "none");
  if (needed.every(([key]) => headers[key].length === 0)) {
    const message = "All X-Webhook- headers are missing.";
    return [{ code: "all_headers_missing", message }];
  }
  return needed.flatMap(([key, { fits, grammar }]): readonly Clue[] => {
    const [first] = headers[key];
    if (first === undefined) return [headerClue("header_missing", key, "is missing")];
    const [clue] = first.clues;
    // Which value is signed is not known yet.
    if (clue?.code === "header_repeated")
      return [headerClue(clue.code, key, "has more than one value")];
    if (clue !== undefined) return [clue];
    if (fits(first.text)) return [];
    if (key === "timestamp" && /^[0-9]{13}$/.test(first.text)) {
      return [headerClue("timestamp_unit", key, "has 13 digits, so it is in milliseconds")];
    }
    return [headerClue("header_malformed", key, `must be ${grammar}`)];
  });
}

/** The first bytes of a MAC, with the clues about the header that it assumes. */
export interface MacReading {
  readonly mac: Uint8Array;
  readonly clues: readonly Clue[];
}

const MAC_BYTES = 32;
/** A shorter beginning would match by chance in a long search. */
const MIN_BEGINNING_BYTES = 8;
const MAX_PARTS = 16;
const MAX_LENGTH = 4_096;

/** The MACs that X-Webhook-Signature may contain, the correct form first. */
export function readMacs(texts: readonly TextReading[]): readonly MacReading[] {
  return texts
    .flatMap((reading) => macsIn(reading))
    .sort((one, other) => one.clues.length - other.clues.length);
}

function macsIn({ text, clues }: TextReading): readonly MacReading[] {
  // A value with white space around it is also tried without.
  if (text.trim() !== text) return [];
  const parts = text.slice(0, MAX_LENGTH).split(/[,;\s]+/, MAX_PARTS);
  const found = parts.flatMap((part) => macOf(part));
  return found.map((reading, at) => {
    const what = `has ${found.length} values; value ${at + 1} matches`;
    const around =
      found.length > 1
        ? headerClue("header_repeated", "signature", what)
        : headerClue("signature_prefix", "signature", "has other fields next to the digest");
    const isStray = parts.length > 1 && !isSignature(text);
    const own = isStray ? [around, ...reading.clues] : reading.clues;
    return { mac: reading.mac, clues: [...clues, ...own] };
  });
}

function macOf(part: string): readonly MacReading[] {
  const [, prefix, digits = ""] = /^([\w-]{1,12}[=:])?([0-9a-f]+)$/i.exec(part) ?? [];
  // An odd last digit is not a whole byte and is left out.
  const mac = Buffer.from(digits, "hex").subarray(0, MAC_BYTES);
  if (mac.length < MIN_BEGINNING_BYTES) return [];
  const clues: Clue[] = [];
  if (prefix !== "v1=") {
    const what = "has no v1=, or another prefix, before the digest";
    clues.push(headerClue("signature_prefix", "signature", what));
  }
  if (digits.length !== 2 * MAC_BYTES) {
    const what = `has ${digits.length} hexadecimal digits instead of 64; the digits in common match`;
    clues.push(headerClue("signature_length", "signature", what));
  }
  return [{ mac, clues }];
}
