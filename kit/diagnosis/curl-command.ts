import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { headerLineOf } from "./http-capture.js";

const DATA_OPTIONS = ["-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--json"];

/** Whether the text is a command that runs curl. */
export function isCurlCommand(bytes: Buffer): boolean {
  return /^\s*(?:\$ )?curl(?:\.exe)?[ \t\\^`]/.test(bytes.subarray(0, 1_024).toString("latin1"));
}

/** Reads the request that a curl command sends, as browsers and webhook inspectors copy it. */
export function parseCurlCommand(bytes: Buffer): CapturedRequest {
  // In Latin-1 each byte is one character, so the body keeps its bytes.
  const words = shellWords(bytes.toString("latin1").replace(/^\s*(?:\$ )?/, ""));
  const lines: HeaderLine[] = [];
  const data: string[] = [];
  let method: string | undefined;
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? "";
    // The value may follow without a blank: -XPOST.
    const isJoined = /^-[XHd]./s.test(word);
    const option = isJoined ? word.slice(0, 2) : word;
    const value = (isJoined ? word.slice(2) : words[at + 1]) ?? "";
    if (option === "-X" || option === "--request") method = value;
    else if (option === "-H" || option === "--header") lines.push(...headersOf(value));
    else if (DATA_OPTIONS.includes(option)) data.push(dataOf(option, value));
    // Other options and the URL do not change the delivery.
    else continue;
    if (!isJoined) at += 1;
  }
  if (lines.length === 0) {
    const message = "the curl command sets no headers: a delivery has four with -H";
    throw new CaptureError("missing_headers", message);
  }
  return {
    // Without data the body may be in a file of its own, so that the method is not known.
    method: method ?? (data.length > 0 ? "POST" : undefined),
    headers: recordOf(lines),
    body: Buffer.from(data.join("&"), "latin1"),
  };
}

function headersOf(value: string): readonly HeaderLine[] {
  const line = headerLineOf(value);
  return line === undefined ? [] : [line];
}

function dataOf(option: string, value: string): string {
  if (option === "--data-raw" || !value.startsWith("@")) return value;
  throw new CaptureError(
    "missing_body",
    "the curl command reads the body from a file: remove that option, and give the file with --body",
  );
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  v: "\v",
};
/**
 * A part of a command: a line that goes on (\\ in a shell, ` in PowerShell), an escape of cmd.exe, quoted text, blanks, the
 * end (what follows is another command, or a file for the output), or one character. Between single quotes a
 * backslash is an ordinary character.
 */
const PART =
  /[\\`]\r?\n|(?<caret>\^["\r\n])|\$'(?<ansi>[^'\\]*(?:\\.[^'\\]*)*)'|'(?<single>[^']*)'|"(?<double>[^"\\]*(?:\\.[^"\\]*)*)"|(?<open>["'])|(?<blanks>[ \t\r]+)|(?<end>[\n;|&<>])|\\(?<escaped>.?)|(?<plain>.)/gsy;

/**
 * The words of the first command in a text, with the quotes of a POSIX shell removed. Each character
 * stands for one byte (Latin-1), so that no byte is lost.
 */
function shellWords(text: string): readonly string[] {
  const words: (string | undefined)[] = [undefined];
  for (const { groups = {} } of text.matchAll(PART)) {
    const { ansi, single, double, open, blanks, end, escaped, plain, caret } = groups;
    if (caret !== undefined) {
      throw new CaptureError(
        "invalid_command",
        'the curl command is written for cmd.exe, with ^ at the end of lines, which changes the body: choose "Copy as cURL (bash)"',
      );
    }
    if (end !== undefined) break;
    if (open !== undefined) {
      throw new CaptureError("invalid_command", "the curl command has a quote that is not closed");
    }
    const quoted = ansi === undefined ? double && unescapeDouble(double) : unescapeAnsi(ansi);
    const piece = quoted ?? single ?? escaped ?? plain;
    if (blanks !== undefined) words.push(undefined);
    else if (piece !== undefined) words.push((words.pop() ?? "") + piece);
  }
  return words.filter((word) => word !== undefined);
}

function unescapeDouble(text: string): string {
  return text.replace(/\\(?:\r?\n|(["\\$`]))/g, "$1");
}

/** The escapes of `$'…'`. */
function unescapeAnsi(text: string): string {
  return text.replace(
    /((?:\\u[0-9a-f]{4})+)|\\(?:x([0-9a-f]{1,2})|([0-7]{1,3})|(.))/gis,
    (_, units?: string, hex?: string, octal?: string, other = "") => {
      if (units !== undefined) {
        // A character outside the basic plane is written as two units.
        return Buffer.from(String(JSON.parse(`"${units.toLowerCase()}"`))).toString("latin1");
      }
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return ESCAPES[String(other)] ?? String(other);
    },
  );
}
