import type { HeaderLine } from "../sending/wire.js";
import { MAX_HEADER_LINES } from "./header-lines.js";

const REQUEST_LINE = /^([A-Z]+) \S+(?: HTTP\/[0-9.]+)?$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/;
/** HTTP/2 pseudo-headers as tools print them. */
const PSEUDO_HEADER = /^:[a-z]+:/;

/** The head of a request as it is sent over a socket. */
export interface HttpHead {
  readonly method: string | undefined;
  readonly lines: readonly HeaderLine[];
  /** Offset of the body; undefined if the blank line before it is missing. */
  readonly bodyStart: number | undefined;
}

/** Reads the head at the beginning of a text. Returns the number of the first line that cannot be part of it. */
export function readHttpHead(text: string): HttpHead | number {
  let at = text.length - text.trimStart().length;
  let number = text.slice(0, at).split("\n").length;
  let method: string | undefined;
  const lines: HeaderLine[] = [];
  for (let isFirst = true; at < text.length; isFirst = false, number++) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, text[end - 1] === "\r" ? end - 1 : end);
    at = end + 1;
    const request = isFirst ? REQUEST_LINE.exec(line) : null;
    const [, name, value = ""] = HEADER_LINE.exec(line) ?? [];
    const before = lines.at(-1);
    if (line === "") return lines.length === 0 ? number : { method, lines, bodyStart: at };
    if (request !== null) method = request[1];
    else if (PSEUDO_HEADER.test(line)) continue;
    else if (name !== undefined) {
      if (lines.length < MAX_HEADER_LINES) lines.push([name, value.trim()]);
    } else if (/^[ \t]/.test(line) && before !== undefined) {
      // A line that begins with white space continues the previous one (RFC 9112, 5.2).
      lines[lines.length - 1] = [before[0], `${before[1]} ${line.trim()}`];
    } else return number;
  }
  return lines.length === 0 ? number : { method, lines, bodyStart: undefined };
}

const MAX_SIZE_LINE = 128;

/** The content of an HTTP/1.1 chunked body; undefined if the bytes are not in chunks. */
export function readChunks(bytes: Uint8Array): Uint8Array | undefined {
  const text = Buffer.from(bytes).toString("latin1");
  const content: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const near = text.slice(at, at + MAX_SIZE_LINE);
    const [line = "", digits = ""] = /^([0-9a-f]{1,8})(?:;.*)?\r?\n/i.exec(near) ?? [];
    const start = at + line.length;
    const end = start + Number.parseInt(digits, 16);
    if (end === start) return Buffer.concat(content);
    const [newline] = /^\r?\n/.exec(text.slice(end, end + 2)) ?? [];
    if (line === "" || newline === undefined) return undefined;
    content.push(bytes.subarray(start, end));
    at = end + newline.length;
  }
}
