import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { readChunks } from "./chunked-body.js";
import { MAX_HEADER_LINES } from "./header-lines.js";

const LF = 0x0a;
const REQUEST_LINE = /^([A-Z]+) \S+(?: HTTP\/[0-9.]+)?$/;
const STATUS_LINE = /^HTTP\/[0-9.]+ [0-9]{3}/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** HTTP/2 pseudo-headers as tools print them. */
const PSEUDO_HEADER = /^:[a-z]+:/;

/** Lines that curl prints beside the request. */
const NOTE = /^[*{}] /;

/** One line of a capture, and the offset of the next. */
interface Line {
  readonly text: string;
  readonly end: number;
}

/** Reads a request as it is sent over a socket or as `curl -v` prints it. */
export function parseHttpCapture(bytes: Buffer): CapturedRequest {
  const isCurl = /^(?:[*{}] .*\r?\n)*> /.test(bytes.subarray(0, 65_536).toString("latin1"));
  const head: string[] = [];
  let at = 0;
  for (;;) {
    const line = lineAt(bytes, at);
    if (line === undefined) {
      throw new CaptureError(
        "missing_blank_line",
        "there is no blank line between the headers and the body",
      );
    }
    const { text } = line;
    // In curl's output only lines with `> ` belong to the request.
    if (isCurl && head.length > 0 && !/^(?:>|[*{}] |$)/.test(text)) break;
    at = line.end;
    if (isCurl && NOTE.test(text)) continue;
    const content = isCurl ? text.replace(/^> ?/, "") : text;
    if (content !== "") head.push(content);
    // A request may follow blank lines.
    else if (head.length > 0) break;
  }
  const { method, lines } = readHead(head);
  const rest = isCurl ? bodyOfCurl(bytes.subarray(at)) : bytes.subarray(at);
  const isChunked = lines.some(
    ([name, value]) => name.toLowerCase() === "transfer-encoding" && /chunked/i.test(value),
  );
  const body = (isChunked ? readChunks(rest) : undefined) ?? rest;
  return { method, headers: recordOf(lines), body };
}

function lineAt(bytes: Buffer, start: number): Line | undefined {
  const newline = bytes.indexOf(LF, start);
  if (newline === -1) return undefined;
  const text = bytes.toString("latin1", start, newline).replace(/\r$/, "");
  return { text, end: newline + 1 };
}

function readHead(head: readonly string[]): { method: string | undefined; lines: HeaderLine[] } {
  const [first = ""] = head;
  if (STATUS_LINE.test(first)) {
    throw new CaptureError("not_a_request", "this is a response: capture the request instead");
  }
  const method = REQUEST_LINE.exec(first)?.[1];
  const lines: HeaderLine[] = [];
  for (const [index, text] of head.entries()) {
    if ((index === 0 && method !== undefined) || PSEUDO_HEADER.test(text)) continue;
    const line = headerLineOf(text);
    const before = lines.at(-1);
    if (line !== undefined) {
      if (lines.push(line) === MAX_HEADER_LINES) break;
    } else if (/^[ \t]/.test(text) && before !== undefined) {
      // A line that begins with white space continues the previous one (RFC 9112, 5.2).
      lines[lines.length - 1] = [before[0], `${before[1]} ${text.trim()}`];
    } else {
      throw new CaptureError(
        "invalid_header_line",
        `line ${index + 1} of the head is neither "Name: value" nor the blank line before the body`,
      );
    }
  }
  if (lines.length === 0) throw new CaptureError("missing_headers", "there are no header lines");
  return { method, lines };
}

/** Name and trimmed value of a `Name: value` line; undefined for another line. */
export function headerLineOf(text: string): HeaderLine | undefined {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0));
  if (!HEADER_NAME.test(name) || text.includes("\r")) return undefined;
  // Not a regular expression: one that ends in blanks is quadratic on a long run of them.
  let start = colon + 1;
  let end = text.length;
  while (isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return [name, text.slice(start, end)];
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

/** The bytes between the head and curl's next note or the response. */
function bodyOfCurl(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const rest = text.replace(/^(?:[*{}] [^\n]*\n)+/, "");
  const notes = text.length - rest.length;
  const next = /\r?\n(?:\* |< HTTP\/|\} \[)/.exec(rest);
  return bytes.subarray(notes, next === null ? undefined : notes + next.index);
}
