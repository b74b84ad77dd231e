import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, MISSING_BODY, type FoundRequest } from "./captured-request.js";
import { MAX_HEADER_LINES } from "./header-lines.js";

/**
 * A part of a printed object: quoted text, a bracket, a blank line, or a word. A header's value stands on one line and
 * is short, which also bounds the work on quotes that are not closed.
 */
const PART =
  /(?<at>["'])(?<quoted>(?:(?!\k<at>)[^\\\n]|\\.){0,512})\k<at>|(?<open>[({[])|(?<close>[)}\]])|(?<word>[\w./;*+-]+(?:=\w+)?)|[^]/gy;

/** What belongs to the headers of a delivery, and to how its body was sent. */
const WANTED = /^(?:x-webhook-\w+|content-\w+|transfer-encoding)$/i;
/** What printed objects have between a name and its value: PHP's `string(36)` and a list's bracket. */
const NO_VALUE = /^(?:string|int|array|=|\d{1,3})$/i;

/**
 * Reads headers as a language prints them, and the body after them: an object of Node, `rawHeaders`, PHP's
 * `getallheaders()` with print_r, var_export or var_dump, a hash table of PowerShell, or a dict of Python. Undefined
 * if no webhook header is found so.
 */
export function parsePrintedCapture(bytes: Buffer): FoundRequest | undefined {
  const text = bytes.toString("latin1");
  const lines: HeaderLine[] = [];
  let name: string | undefined;
  let depth = 0;
  let end = text.length;
  for (const { 0: whole, index, groups = {} } of text.matchAll(PART)) {
    const { open, close, quoted, word } = groups;
    if (open !== undefined) depth += 1;
    if (close !== undefined && --depth === 0 && lines.length > 0) {
      end = index + whole.length;
      break;
    }
    const value = quoted ?? word;
    if (value === undefined || depth === 0) continue;
    if (WANTED.test(value)) name = value;
    else if (name !== undefined && (quoted !== undefined || !NO_VALUE.test(value))) {
      if (lines.push([name, value]) === MAX_HEADER_LINES) break;
      name = undefined;
    }
  }
  if (!lines.some(([one]) => /^x-webhook-/i.test(one))) return undefined;
  const rest = text.slice(end);
  const after = powerShellBody(rest) ?? rest.replace(/^[ \t;,)]*(?:\r?\n)*/, "");
  const body = (): Buffer => {
    if (after === "") throw new CaptureError("missing_body", MISSING_BODY);
    return Buffer.from(after, "latin1");
  };
  return { headers: recordOf(lines), body };
}

/** The text of `-Body "…"`, as browsers copy a request for PowerShell. */
function powerShellBody(text: string): string | undefined {
  const start = /-Body[ \t]+(?:\(\[System\.Text\.Encoding\]::UTF8\.GetBytes\()?"/.exec(text);
  if (start === null) return undefined;
  const quoted = /^(?:[^"`]|`[^]|"")*/.exec(text.slice(start.index + start[0].length))?.[0] ?? "";
  return quoted.replace(
    /`([^])|""|\$\(\[char\](\d{1,5})\)/g,
    (pair, escaped?: string, unit?: string) =>
      unit === undefined
        ? (escaped ?? pair.slice(1))
        : Buffer.from(String.fromCharCode(Number(unit))).toString("latin1"),
  );
}
