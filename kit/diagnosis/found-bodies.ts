import type { FoundHeaders } from "./found-headers.js";
import { readHttpHead } from "./http-head.js";
import { percentDecoded, unescaped } from "./peeled-text.js";

/** A place in a capture that may be the body. */
export interface FoundBody {
  /** What it may have been, the likeliest first. Empty for an object that a program has parsed. */
  readonly readings: readonly (string | Uint8Array)[];
  readonly start: number;
  readonly end: number;
}

/** Where a body begins. */
interface Opening {
  readonly start: number;
  /** The quote before it, or null for no body; undefined for a body as it stands. */
  readonly quote: string | undefined;
  /** Whether its name may be that of another text. */
  readonly isWeak: boolean;
  readonly isBase64: boolean;
}

/** The names that programs give to a body, and the options of commands. A weak name may be that of another text. */
const KEY =
  /(?:(?<![\w-])(?:(?:raw|request)?_?body(?:_?raw|_?b(?:ase)?64)?|payload|(?<weak>data|content|text|raw|message))["'`*\\\]]*[ \t]*(?:=>|[:=])|(?<!\S)(?:-d|--data(?:-raw|-binary|-ascii)?|--json|-Body)(?=[\s='"$]))[\s=^]*(?:\(\[System\.Text\.Encoding\]::UTF8\.GetBytes\()?(?:string\(\d+\)\s*)?[$brR@]{0,2}(?:(?<quote>["'`])|(?=(?<none>null)\b))/;
/** The beginning of a documented body. */
const START = /(?<opened>["'`]?)(?=\{\s*\\*["“”„«]\s*(?:alarm|event)\s*\\*["“”„»])/;
const OPENING = new RegExp(`${KEY.source}|${START.source}`, "gi");
/** What stands before an object that a program has parsed, in JSON or code. */
const PARSED = /["']\w+["']\s*(?::|=>)\s*$/;
const BASE64_FLAG =
  /body_?b(?:ase)?64|isBase64Encoded["']?\s*[:=]\s*true|encoding["']?\s*[:=]\s*["']?base64/i;
const BASE64 = /^[0-9A-Za-z+/_-]{4,}={0,2}$/;
const BLANK_LINE = /\n[ \t]*\r?\n/g;
const MAX_PLACES = 16;

/** How a text is written between quotes: how its end is found, and how the quoting is undone. */
interface Quoting {
  readonly quotes: string;
  readonly escape?: string;
  /** What follows a quote that does not end the text. */
  readonly again?: string;
  readonly undo: (text: string) => string;
}

const QUOTINGS: readonly Quoting[] = [
  // A POSIX shell.
  { quotes: "'", again: "\\''", undo: (text) => text.replaceAll("'\\''", "'") },
  // JSON, JavaScript, Python, PHP, Go, Ruby, and $'…' of a shell.
  { quotes: `"'\``, escape: "\\", undo: unescaped },
  // The two quotings of YAML, which folds lines. A double-quoted text may have a backslash before its line ends.
  { quotes: "'", again: "'", undo: (text) => folded(text).replaceAll("''", "'") },
  {
    quotes: '"',
    escape: "\\",
    undo: (text) => unescaped(folded(text.replace(/\\\n[ \t]*\\?/g, ""))),
  },
  // The same text in double quotes in a shell, and in PowerShell.
  { quotes: '"', escape: "\\", undo: (text) => text.replace(/\\(?:\r?\n|(["\\$`]))/g, "$1") },
  { quotes: '"', escape: "`", again: '"', undo: withoutBackticks },
  { quotes: `"'\``, undo: (text) => text },
];

/** The places of a text that may be the body of the delivery with these headers, the likeliest first. */
export function findBodies(text: string, headers: FoundHeaders): readonly FoundBody[] {
  const isBase64 = BASE64_FLAG.test(text);
  const found: FoundBody[] = [];
  let places = 0;
  for (const { index, 0: written, groups = {} } of text.matchAll(OPENING)) {
    const { weak, quote, none, opened } = groups;
    const start = index + written.length;
    // A record has quoted texts of its own.
    if (start < (found.at(-1)?.end ?? 0)) continue;
    const opening = { start, quote: none ?? quote ?? opened, isWeak: weak !== undefined, isBase64 };
    const body = bodyAt(text, opening, headers);
    if (body !== undefined) found.push(body);
    if (++places === MAX_PLACES) break;
  }
  const isBefore = ({ start }: FoundBody): number => Number(start < headers.end);
  found.sort((one, other) => isBefore(one) - isBefore(other));
  return [...found, ...restBehind(text, headers.end)];
}

function bodyAt(text: string, opening: Opening, headers: FoundHeaders): FoundBody | undefined {
  const { start, quote, isWeak, isBase64 } = opening;
  if (quote === "null") return { readings: [""], start, end: start };
  const { readings, end } = quote ? quoted(text, start, quote) : asItStands(text, start);
  // Neither the object around the headers, nor a value of one.
  if (start < headers.end && end > headers.start) return undefined;
  const isParsed = !quote && PARSED.test(text.slice(Math.max(0, start - 40), start));
  if (isParsed) return { readings: [], start, end };
  const decoded = readings.flatMap((reading) => decodings(reading, isBase64));
  const isJson = readings.some((one) => /^\s*[{[]/.test(one));
  if (isWeak && !isJson && decoded.length === 0) return undefined;
  return { readings: isBase64 ? [...decoded, ...readings] : [...readings, ...decoded], start, end };
}

/** What a base64 or percent-encoded text says. Of a whole request only the body. */
function decodings(text: string, isBase64: boolean): readonly (string | Uint8Array)[] {
  const bare = text.replace(/\s+/g, "");
  if (/^%7B/i.test(bare)) return percentDecoded(text);
  if (!BASE64.test(bare)) return [];
  const bytes = Buffer.from(bare, "base64");
  const head = readHttpHead(bytes.toString("latin1"));
  const bodyStart = typeof head === "object" ? head.bodyStart : undefined;
  if (bodyStart !== undefined) return [bytes.subarray(bodyStart)];
  return isBase64 || /^[{[]/.test(bytes.subarray(0, 1).toString()) ? [bytes] : [];
}

function quoted(text: string, start: number, quote: string): { readings: string[]; end: number } {
  let end = 0;
  // $'…' of a shell has escapes, which '…' has not.
  const isAnsi = text[start - 2] === "$";
  const readings = QUOTINGS.filter(
    ({ quotes, escape }) => quotes.includes(quote) && (!isAnsi || escape === "\\"),
  ).flatMap((quoting) => {
    const at = endOf(text, start, quote, quoting);
    if (at === undefined) return [];
    if (quoting.escape === "\\" || quote === "'") end = Math.max(end, at);
    return quoting.undo(text.slice(start, at));
  });
  return { readings, end: end === 0 ? text.length : end };
}

function endOf(text: string, start: number, quote: string, how: Quoting): number | undefined {
  const { escape, again } = how;
  for (let at = start; at < text.length; at++) {
    if (text[at] === escape) at++;
    else if (text[at] === quote) {
      if (again === undefined || !text.startsWith(again, at + 1)) return at;
      at += again.length;
    }
  }
  return undefined;
}

/** JSON up to its last brace, also without what a list, a mail or YAML did to its lines. */
function asItStands(text: string, start: number): { readings: string[]; end: number } {
  const end = endOfJson(text, start);
  const whole = text.slice(start, end);
  const lineStart = text.lastIndexOf("\n", start) + 1;
  const margin = /^[ \t]*/.exec(text.slice(lineStart, start))?.[0] ?? "";
  return { readings: [whole, whole.replaceAll(`\n${margin}`, "\n"), folded(whole)], end };
}

function endOfJson(text: string, start: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (sign === "\\") at++;
    else if (sign === '"') isText = !isText;
    else if (!isText && sign === "{") depth++;
    else if (!isText && sign === "}" && --depth === 0) return at + 1;
  }
  const last = text.lastIndexOf("}") + 1;
  return last > start ? last : text.length;
}

/** What stands behind the headers: behind the bracket that closes their object, or behind a blank line. */
function restBehind(text: string, from: number): readonly FoundBody[] {
  BLANK_LINE.lastIndex = from;
  const blank = BLANK_LINE.exec(text);
  const closed = closedAt(text, from, blank?.index ?? text.length);
  const start = closed ?? (blank === null ? undefined : BLANK_LINE.lastIndex);
  const behind = start === undefined ? "" : text.slice(start);
  if (start === undefined || (closed !== undefined && /^[ \t)\]}"'`]*,/.test(behind))) return [];
  const skipped = closed === undefined ? 0 : /^[ \t;,)\]}"'`]*(?:\r?\n)*/.exec(behind)?.[0].length;
  const rest = behind.slice(skipped);
  const isBlank = /^[ \t\r\n]*$/.test(rest);
  // What stands around the headers ends here, or goes on.
  const isAround = /^[\s)\]}"'`]*,/.test(rest) || !/[^\s)\]};"'`,]/.test(rest);
  if (closed !== undefined && (isBlank || (isAround && isOpen(text.slice(0, closed))))) return [];
  const readings = [rest, ...decodings(rest, false)];
  return [{ readings, start: text.length - rest.length, end: text.length }];
}

function closedAt(text: string, from: number, end: number): number | undefined {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const sign = text.charAt(at);
    if ("([{".includes(sign)) depth++;
    else if (")]}".includes(sign) && --depth < 0) return at + 1;
  }
  return undefined;
}

/** Whether a bracket of the text is not closed in it. */
function isOpen(text: string): boolean {
  return text.replace(/[^([{]+/g, "").length > text.replace(/[^)\]}]+/g, "").length;
}

/** The lines of YAML and of a mail: one newline is a space, and of several the first is left out. */
function folded(text: string): string {
  const lines = text.split(/\r?\n/);
  if (lines.length === 1) return text;
  const trimmed = lines.map((line) => line.trim()).join("\n");
  return trimmed.replace(/\n(\n*)/g, (_, more: string) => more || " ");
}

/** Without the escapes of PowerShell, and the letters that browsers copy for it as numbers. */
function withoutBackticks(text: string): string {
  return text.replace(/`([^])|""|\$\(\[char\](\d{1,5})\)/g, (pair, one?: string, unit?: string) =>
    unit === undefined ? (one ?? pair.slice(1)) : String.fromCharCode(Number(unit)),
  );
}
