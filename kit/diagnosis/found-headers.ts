import { HEADERS } from "../../src/delivery/headers.js";
import type { HeaderLine } from "../sending/wire.js";
import { MAX_HEADER_LINES } from "./header-lines.js";
import { unescaped } from "./peeled-text.js";

const KEYS = Object.keys(HEADERS).join("|");
/** A header name in any text, also with other dashes and as CGI, AWS and proxies write it. */
const NAME = new RegExp(
  String.raw`(?<![\w-])(?<cgi>HTTP_)?(?<name>(?:x-(?:amzn-remapped|forwarded|original)-)?(?:x[-_‐‑–])?webhook[-_‐‑–](?:${KEYS})|(?:content[-_](?:length|encoding|type)|transfer-encoding))(?![\w-])`,
  "giu",
);
const WEBHOOK = /webhook/i;
/** What stands between a name and its value: signs, quotes, and the words that HAR, YAML and PHP put there. */
const BETWEEN =
  /[\s"'`“”„‘’«»*\\^\]:=>|,[({\u200b\ufeff]*(?:[-+]\s*\n\s*)?(?:\b(?:value\b|string\(\d+\)|type["'\s:]+text|array\s*\()[\s"'`*\\^\]:=>|,[({]*)*/iuy;
/** The quote that opens a value, behind all else. */
const OPENED = /["'`“”„‘’«»](?=\s*$)/u;
const CLOSERS: Readonly<Record<string, string>> = { "“": "”", "„": "“”", "‘": "’", "«": "»" };
/** A longer value is none, and the bound keeps the search linear. */
const MAX_VALUE = 1_024;
/** The farthest that another header of the request stands from the webhook headers. */
const MAX_DISTANCE = 4_096;

/** A header that was found in a text, and where. */
interface FoundHeader {
  readonly name: string;
  readonly values: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** The headers of one delivery in a text. */
export interface FoundHeaders {
  readonly lines: readonly HeaderLine[];
  /** Offset of the first webhook header's name, and behind the last one's value. */
  readonly start: number;
  readonly end: number;
}

/** Finds the headers of the first delivery in any text. Undefined if there is no webhook header. */
export function findHeaders(text: string): FoundHeaders | undefined {
  const found: FoundHeader[] = [];
  for (const match of text.matchAll(NAME)) {
    const header = headerAt(text, match);
    if (header !== undefined) found.push(header);
    if (found.length === MAX_HEADER_LINES) break;
  }
  const group = firstDelivery(found.filter(({ name }) => WEBHOOK.test(name)));
  const [first] = group;
  if (first === undefined) return undefined;
  const others = found.filter(
    ({ name, start }, at) =>
      !WEBHOOK.test(name) &&
      Math.abs(start - first.start) < MAX_DISTANCE &&
      found.findIndex((one) => sameName(one, name)) === at,
  );
  const lines = [...group, ...others].flatMap(({ name, values }) =>
    values.map((value): HeaderLine => [name, value]),
  );
  return { lines, start: first.start, end: group.at(-1)?.end ?? first.end };
}

/** The headers up to the first that stands a second time, unless a later request has more of them. */
function firstDelivery(found: readonly FoundHeader[]): readonly FoundHeader[] {
  const groups: FoundHeader[][] = [];
  for (const header of found) {
    const group = groups.at(-1) ?? [];
    // One that stands next to itself was sent twice.
    const isNext = group.slice(0, -1).some((one) => sameName(one, header.name));
    if (isNext || group.length === 0) groups.push([header]);
    else group.push(header);
  }
  const kindsIn = (group: readonly FoundHeader[]): number =>
    new Set(group.map(({ name }) => name.toLowerCase())).size;
  return groups.toSorted((one, other) => kindsIn(other) - kindsIn(one))[0] ?? [];
}

function sameName(one: FoundHeader, name: string): boolean {
  return one.name.toLowerCase() === name.toLowerCase();
}

function headerAt(text: string, match: RegExpExecArray): FoundHeader | undefined {
  const { cgi, name = "" } = match.groups ?? {};
  const start = match.index + match[0].length;
  const near = text.slice(start, start + MAX_VALUE);
  BETWEEN.lastIndex = 0;
  const between = BETWEEN.exec(near)?.[0] ?? "";
  const before = text.slice(Math.max(0, match.index - 80), match.index);
  const opened = OPENED.exec(between);
  const at = opened === null ? between.length : opened.index + 1;
  // Both quotes around a line such as 'Name: value' of a command.
  const around = /["'`“”„‘’«»]/u.test(between) ? undefined : /["'`“‘]$/u.exec(before)?.[0];
  const quote = opened?.[0] ?? around;
  const rest = near.slice(at);
  const value =
    quote === undefined ? plainValue(rest, between, before) : unescaped(quotedValue(rest, quote));
  // In a sentence, and in a table, there are only blanks between.
  const isValue = /\S/.test(between) || (between !== "" && /\d|^new_alarm$|_event$/.test(value));
  if (!isValue || (opened === null && /^(?:HTTP_)?(?:x[-_])?webhook[-_]|^content-/i.test(rest)))
    return undefined;
  const written = name.replace(/[‐‑–]/gu, "-");
  const isCgi = cgi !== undefined || /^content_/i.test(written);
  return {
    name: isCgi ? httpName(written) : written,
    values: between.includes("[") && quote !== undefined ? listFrom(rest, quote) : [value],
    start: match.index,
    end: start + at + value.length,
  };
}

/** The value up to the closing quote. */
function quotedValue(rest: string, quote: string): string {
  const closers = (CLOSERS[quote] ?? "") + quote;
  return new RegExp(String.raw`^(?:\\.|[^\\\n${closers}])*`, "su").exec(rest)?.[0] ?? "";
}

/** Up to the end of the line if the name begins it, otherwise up to a blank or a sign. */
function plainValue(rest: string, between: string, before: string): string {
  const isLine = /(?:^|\n)[\s>*•-]*$/u.test(before) && /^[*_]*[:=][^\n]*$/.test(between);
  const found = (isLine ? /^[^\r\n]*/ : /^[^\s,;"'`)}\]|]*/).exec(rest)?.[0] ?? "";
  return found.replace(/[\s|*`]+$/u, "");
}

/** The values of a list: a header that was sent more than once. */
function listFrom(rest: string, quote: string): readonly string[] {
  const [list = ""] = rest.split("]", 1);
  return list.split(quote).filter((value, at) => at % 2 === 0 && value.trim() !== "");
}

/** CGI writes X-Webhook-Id as X_WEBHOOK_ID. */
function httpName(name: string): string {
  const lower = name.toLowerCase().replaceAll("_", "-");
  return lower.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
