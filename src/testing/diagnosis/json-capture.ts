import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { headerLinesOf } from "./header-lines.js";

type Json = Readonly<Record<string, unknown>>;

/** Reads a fixture, an AWS API Gateway event, or a HAR file. */
export function parseJsonCapture(bytes: Uint8Array): CapturedRequest {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // Not with the parse error as cause: its message quotes the text.
    throw new CaptureError(
      "invalid_json",
      "the capture begins like JSON but is not JSON; a body alone is not a capture: put the headers and a blank line before it",
    );
  }
  const capture = recordIn(json);
  if (capture === undefined) throw missingHeaders();
  const { log, request } = capture;
  if (log !== undefined) return readHar(log);
  return request === undefined ? readEvent(capture) : readHarEntry(capture);
}

/** The first entry that has webhook headers, or the only entry. */
function readHar(log: unknown): CapturedRequest {
  const entries: unknown = recordIn(log)?.["entries"];
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  const records = list.map((entry) => recordIn(entry)).filter((entry) => entry !== undefined);
  const isDelivery = (entry: Json): boolean =>
    headerLinesOf(recordIn(entry["request"])?.["headers"]).some(([name]) =>
      name.toLowerCase().startsWith("x-webhook-"),
    );
  const entry = records.find(isDelivery) ?? (records.length === 1 ? records[0] : undefined);
  if (entry !== undefined) return readHarEntry(entry);
  throw new CaptureError("no_delivery_in_har", "no entry of the HAR file has X-Webhook- headers");
}

function readHarEntry(entry: Json): CapturedRequest {
  const request = recordIn(entry["request"]);
  const lines = headerLinesOf(request?.["headers"]);
  if (request === undefined || lines.length === 0) throw missingHeaders();
  const postData = recordIn(request["postData"]);
  if (postData === undefined) {
    throw new CaptureError("missing_body", "the request in the HAR entry has no postData");
  }
  return {
    method: textIn(request["method"]),
    headers: recordOf(lines),
    body: bytesOf(postData["text"], postData["encoding"] === "base64", "postData.text"),
    receivedAt: momentOf(entry["startedDateTime"]),
  };
}

function readEvent(event: Json): CapturedRequest {
  const lines = linesOfEvent(event);
  if (lines.length === 0) throw missingHeaders();
  const { body, bodyBase64, isBase64Encoded, method, httpMethod, receivedAt } = event;
  const context = recordIn(event["requestContext"]);
  const http = recordIn(context?.["http"]);
  if (body === undefined && bodyBase64 === undefined) {
    throw new CaptureError("missing_body", "there is no body: neither body nor bodyBase64");
  }
  return {
    method: textIn(method) ?? textIn(httpMethod) ?? textIn(http?.["method"]),
    headers: recordOf(lines),
    body:
      bodyBase64 === undefined
        ? bytesOf(body, isBase64Encoded === true, "body")
        : bytesOf(bodyBase64, true, "bodyBase64"),
    receivedAt: momentOf(receivedAt ?? context?.["timeEpoch"] ?? context?.["requestTimeEpoch"]),
  };
}

/** Prefers `multiValueHeaders`: unlike `headers` it shows a header that was sent twice. */
function linesOfEvent({ headers, multiValueHeaders }: Json): readonly HeaderLine[] {
  const several = headerLinesOf(multiValueHeaders);
  return several.length > 0 ? several : headerLinesOf(headers);
}

function bytesOf(value: unknown, isBase64: boolean, field: string): Uint8Array {
  // A serverless event without a body has null.
  if (value === null) return new Uint8Array(0);
  if (typeof value === "string") return Buffer.from(value, isBase64 ? "base64" : "utf8");
  throw new CaptureError(
    "invalid_body",
    `${field} must be text: a parsed body cannot be turned back into its bytes`,
  );
}

function recordIn(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function momentOf(value: unknown): Date | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function missingHeaders(): CaptureError {
  return new CaptureError(
    "missing_headers",
    "the JSON has no headers: it must be { headers, body }, a serverless event, or HAR",
  );
}
