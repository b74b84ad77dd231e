import { isDeliveryId } from "../../src/delivery/headers.js";
import { headerClue, type Clue, type DeliveryHeaderName } from "./finding.js";
import type { GivenLine } from "./header-lines.js";

/** One reading of a header's text, with the clues that it assumes. */
export interface TextReading {
  readonly text: string;
  readonly clues: readonly Clue[];
}

/** The readings of each webhook header, the unchanged text first. An empty list means that the header is missing. */
export type WebhookHeaderTexts = Readonly<Record<DeliveryHeaderName, readonly TextReading[]>>;

/** The names in the order of the gateway's document, section "Events". */
export const WEBHOOK_HEADER_NAMES: readonly DeliveryHeaderName[] = [
  "X-Webhook-Type",
  "X-Webhook-Id",
  "X-Webhook-Timestamp",
  "X-Webhook-Signature",
];

/** The unchanged text of each header. */
export function exactTexts(headers: WebhookHeaderTexts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    WEBHOOK_HEADER_NAMES.map((name) => [name, headers[name][0]?.text ?? ""]),
  );
}

/** More values are no accident, and each one multiplies the search. */
const MAX_VALUES = 4;

/** Finds the webhook headers in the lines of a request, also under names that a proxy has changed. */
export function readWebhookHeaders(lines: readonly GivenLine[]): WebhookHeaderTexts {
  return Object.fromEntries(
    WEBHOOK_HEADER_NAMES.map((name) => [name, readHeader(name, lines)]),
  ) as unknown as WebhookHeaderTexts;
}

function readHeader(
  header: DeliveryHeaderName,
  lines: readonly GivenLine[],
): readonly TextReading[] {
  const wanted = header.toLowerCase();
  const exact = lines.filter(([name]) => name.toLowerCase() === wanted);
  if (exact.length > 0) return readValues(header, exact.map(textOf), numberClues(header, exact));
  const renamed = lines.filter(([name]) => originalName(name) === wanted);
  const what = "has another name, such as one with underscores or without X-";
  const clues = [headerClue("header_renamed", header, what), ...numberClues(header, renamed)];
  return readValues(header, renamed.map(textOf), clues);
}

function textOf([, value]: GivenLine): string {
  return String(value);
}

/** A receiver accepts only text, even if a number has the right digits. */
function numberClues(header: DeliveryHeaderName, lines: readonly GivenLine[]): readonly Clue[] {
  const isText = lines.every(([, value]) => typeof value === "string");
  return isText ? [] : [headerClue("header_malformed", header, "is a number and must be text")];
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

function readValues(
  header: DeliveryHeaderName,
  values: readonly string[],
  clues: readonly Clue[],
): readonly TextReading[] {
  const parts = values.length === 1 ? values.flatMap((value) => partsOf(header, value)) : values;
  const shown = parts.slice(0, MAX_VALUES);
  if (parts.length < 2) return shown.flatMap((value) => cleaned(header, value, clues));
  return shown.flatMap((value, at) => {
    const what = `has ${parts.length} values; the signature is over value ${at + 1}`;
    return cleaned(header, value, [...clues, headerClue("header_repeated", header, what)]);
  });
}

/** The values that were joined into one text. Not for signatures, since some schemes use commas. */
function partsOf(header: DeliveryHeaderName, value: string): readonly string[] {
  if (header === "X-Webhook-Signature") return [value];
  const parts = value.split(/[,;\n]/, MAX_VALUES + 1).map((part) => part.trim());
  // An empty part comes from a stray comma. A date has commas too.
  return parts.length > 1 && parts.every((part) => isDeliveryId(part)) ? parts : [value];
}

/** The unchanged text, then the text without white space and quotes around it, then without any. */
function cleaned(
  header: DeliveryHeaderName,
  value: string,
  clues: readonly Clue[],
): readonly TextReading[] {
  const bare = value
    .trim()
    .replace(/^(["'])(.*)\1$/s, "$2")
    .trim();
  const around = headerClue(
    "header_whitespace",
    header,
    "has white space or quotes around its value",
  );
  const inside = headerClue(
    "header_whitespace",
    header,
    "has white space or quotes inside its value: a folded line leaves a space",
  );
  const readings: readonly TextReading[] = [
    { text: value, clues },
    { text: bare, clues: [...clues, around] },
    { text: bare.replaceAll(/[\s"']/g, ""), clues: [...clues, inside] },
  ];
  return readings.filter(({ text }, at) => readings.findIndex((one) => one.text === text) === at);
}
