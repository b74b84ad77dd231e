import { isJson, textOfUtf8 } from "../json-parts.js";
import { headerOf, recordOf } from "../sending/wire.js";
import { CaptureError, missingBody, parsedBody, type CapturedRequest } from "./captured-request.js";
import { findBodies } from "./found-bodies.js";
import { findHeaders } from "./found-headers.js";
import { readChunks, readHttpHead } from "./http-head.js";
import { fromUtf16, peeledText, withoutMailCodes } from "./peeled-text.js";

type Encoding = "utf8" | "latin1";

/** Readings of a body that are kept, and their bytes in all. */
const MAX_BODIES = 24;
const MAX_BYTES = 32 * 1_048_576;
const PARSED_BODY = /["']body["']\s*:\s*[{[]/;
const METHOD =
  /(?:\b(?:REQUEST_METHOD|http_?method|method|request)["'\])]*\s*(?:=>|[:=])?\s*|(?<!\S)(?:-X|-Method)\s*|^)["']?(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b/gim;
const TIME =
  /\b(?:receivedAt|startedDateTime|(?:request)?timeEpoch|created_at|start|REQUEST_TIME)["'\]]*\s*(?:=>|[:=])\s*["']?([0-9][0-9T:.Z +-]{8,34})/gi;

/**
 * Reads a captured request: HTTP/1.1 as sent over a socket (with or without the request line, with LF or CRLF) byte for
 * byte, and any other text in which the webhook headers stand with their values, and the body: JSON of a log, a
 * service or an export, HAR, YAML, a command of curl or PowerShell, code, a printed object, CGI variables, a mail or
 * a chat. Quotes, escapes, base64, percent codes and chunks around the headers or the body are undone. At most 1 000
 * header lines are read. Pass bytes if you have them: a body does not have to be UTF-8.
 *
 * @param body The exact body, for a capture that may have nothing but the headers. Default: that of the capture.
 * @throws CaptureError if the text has no headers, or no body.
 * @experimental
 */
export function parseCapturedRequest(
  capture: Uint8Array | string,
  body?: Uint8Array,
): CapturedRequest {
  const { text, encoding } = textOf(capture);
  const first = text.trimStart().slice(0, 16);
  if (first === "") throw new CaptureError("empty_capture", "the capture is empty");
  if (/^HTTP\/[0-9.]+ [0-9]{3}/.test(first)) {
    const message = "line 1 is that of a response: capture the request instead";
    throw new CaptureError("not_a_request", message);
  }
  const head = readHttpHead(text);
  const isHttp = typeof head === "object" && (head.bodyStart ?? body) !== undefined;
  // The head of a mail has the form of HTTP too, and so has YAML.
  const isDelivery = isHttp && head.lines.some(([name]) => /webhook/i.test(name));
  const found = isDelivery ? undefined : search(text, encoding, body);
  if (found !== undefined) return found;
  if (!isHttp) throw missingHeaders(text, head);
  const { method, lines, bodyStart = text.length } = head;
  const rest = text.slice(bodyStart);
  const own = Buffer.from(rest, encoding);
  const isChunked = /chunked/i.test(headerOf(lines, "transfer-encoding") ?? "");
  const isMarked = /^(?:```|~~~|>)/m.test(rest);
  const others = isMarked ? search(text, encoding) : undefined;
  return {
    method,
    headers: recordOf(lines),
    body: body ?? (isChunked ? readChunks(own) : undefined) ?? own,
    ...(others && { otherBodies: [others.body, ...(others.otherBodies ?? [])] }),
  };
}

/** Finds a delivery in a text of any form. Undefined if there is no webhook header. */
function search(given: string, encoding: Encoding, exact?: Uint8Array) {
  const text = peeledText(given);
  const headers = findHeaders(text);
  if (headers === undefined) return undefined;
  const found = findBodies(text, headers);
  const readings = found.flatMap((one) => one.readings);
  const [body, ...otherBodies] = exact === undefined ? distinct(readings, encoding) : [exact];
  if (body === undefined) {
    const parsed =
      found.find((one) => one.readings.length === 0)?.start ?? PARSED_BODY.exec(text)?.index;
    throw parsed === undefined
      ? missingBody(lineOf(text, headers.end))
      : parsedBody(lineOf(text, parsed));
  }
  // A body has fields with such names too.
  const around = found.reduce(
    (rest, { start, end }) => rest.slice(0, start) + " ".repeat(end - start) + rest.slice(end),
    text,
  );
  const methods = new Set(Array.from(around.matchAll(METHOD), ([, method]) => method));
  return {
    // Of several requests it is not known which one is meant.
    method: methods.size === 1 ? [...methods][0] : undefined,
    headers: recordOf(headers.lines),
    body,
    ...(otherBodies.length === 0 ? {} : { otherBodies }),
    receivedAt: timeIn(around, headers.start),
  };
}

/** Each reading once. JSON comes first: a body that is none is rare. */
function distinct(readings: readonly (string | Uint8Array)[], encoding: Encoding) {
  const found = new Map<string, Uint8Array>();
  let total = 0;
  for (const reading of readings) {
    const bytes = typeof reading === "string" ? Buffer.from(reading, encoding) : reading;
    total += bytes.length;
    if (found.size > 0 && (total > MAX_BYTES || found.size > MAX_BODIES)) break;
    found.set(Buffer.from(bytes).toString("latin1"), bytes);
  }
  const likely = [...found].find(([text]) => /^\s*\{/.test(text) && isJson(text))?.[1];
  const others = [...found.values()].filter((bytes) => bytes !== likely);
  return likely === undefined ? others : [likely, ...others];
}

/** The last time before the headers, or the first behind them. */
function timeIn(text: string, at: number): Date | undefined {
  const found = [...text.matchAll(TIME)];
  const written = (found.findLast(({ index }) => index < at) ?? found[0])?.[1]?.trim() ?? "";
  // webhook.site writes UTC without saying so, and PHP writes seconds.
  const isUtc = /^[0-9-]{10} [0-9:]{8}$/.test(written);
  const number = Number(written) * (written.length < 13 ? 1_000 : 1);
  const time = new Date(Number.isNaN(number) ? written + (isUtc ? "Z" : "") : number);
  return written === "" || Number.isNaN(time.getTime()) ? undefined : time;
}

function missingHeaders(text: string, head: ReturnType<typeof readHttpHead>): CaptureError {
  const none = `none of the ${text.split("\n").length} lines`;
  const where = typeof head === "number" ? `line ${head} is no "Name: value", and ${none}` : none;
  const message = `${where} has an X-Webhook- header with a value; a body alone is not a capture: put the headers and a blank line before it`;
  return new CaptureError("missing_headers", message);
}

function lineOf(text: string, at: number): string {
  return `line ${text.slice(0, at).split("\n").length}`;
}

/** The text without the file's byte order mark, and how it becomes the same bytes again. */
function textOf(capture: Uint8Array | string): { text: string; encoding: Encoding } {
  const text = typeof capture === "string" ? capture : (fromUtf16(capture) ?? textOfUtf8(capture));
  const written = text ?? Buffer.from(capture as Uint8Array).toString("latin1");
  return {
    text: withoutMailCodes(written.replace(/^(?:\uFEFF|ï»¿)/, "")),
    encoding: text === undefined ? "latin1" : "utf8",
  };
}
