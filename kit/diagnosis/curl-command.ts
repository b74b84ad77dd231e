import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { headerLineOf } from "./http-capture.js";
import { shellWords } from "./shell-words.js";

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
