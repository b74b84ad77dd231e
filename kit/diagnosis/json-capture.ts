import { gatewayTimeMs } from "../../src/records/gateway-time.js";
import { jsonOf, textOfUtf8 } from "../json-parts.js";
import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, MISSING_BODY, RAW_BODY, type FoundRequest } from "./captured-request.js";
import { hasCgiHeaders, requestOfVariables } from "./cgi-capture.js";
import { headerLinesOf } from "./header-lines.js";
import { isInsomniaYaml, readInsomniaYaml } from "./insomnia-yaml.js";
import { parseHttpCapture } from "./http-capture.js";

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads an export of Insomnia 5 in YAML, a fixture, an AWS API Gateway event, a HAR file, a request of the APIs of ngrok and webhook.site or
 * their lists, CGI variables, or any JSON that holds such a request deeper inside: a line of a log, an export of
 * Postman or Insomnia, an event of Pipedream or Azure.
 */
export function parseJsonCapture(bytes: Uint8Array): FoundRequest {
  const text = textOfUtf8(bytes)?.replace(/^\uFEFF/, "") ?? "";
  const json = isInsomniaYaml(text)
    ? readInsomniaYaml(text)
    : (jsonOf(text) ?? deliveryWithin(text.split("\n", MAX_LOG_LINES).map(jsonOf)));
  if (json === undefined) {
    // Without the parse error as cause: its message quotes the text.
    throw new CaptureError(
      "invalid_json",
      "the capture begins like JSON but is not JSON; a body alone is not a capture: put the headers and a blank line before it",
    );
  }
  const capture = recordIn(json) ?? deliveryWithin(json);
  if (capture === undefined) throw missingHeaders();
  const { log, requests, data } = capture;
  if (log !== undefined) return readRequest(deliveryIn(recordIn(log)?.["entries"], "the HAR file"));
  if (Array.isArray(requests)) return readRequest(deliveryIn(requests, "ngrok's list"));
  if (Array.isArray(data)) return readRequest(deliveryIn(data, "webhook.site's list"));
  return readRequest(capture);
}

function readRequest(capture: Json): FoundRequest {
  const request = recordIn(capture["request"]);
  if (typeof request?.["raw"] === "string") return readNgrok(capture, request["raw"]);
  if (request !== undefined && headerLinesOf(request["headers"]).length > 0) {
    return "body" in request ? readEvent(request) : readHarEntry(capture, request);
  }
  const hasHeaders = linesOfEvent(capture).length > 0;
  if (!hasHeaders && hasCgiHeaders(capture)) {
    // CGI has the body on standard input and not among the variables.
    const { body = null } = capture;
    return requestOfVariables(capture, bytesOf(body, false, "body"));
  }
  return readEvent(hasHeaders ? capture : (deliveryWithin(capture) ?? capture));
}

/** More is no log of one request. */
const MAX_LOG_LINES = 10_000;
const MAX_DEPTH = 12;

/** The first object in a JSON value that has webhook headers of its own. */
function deliveryWithin(value: unknown, depth = 0): Json | undefined {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  const own = recordIn(value);
  if (own !== undefined && linesOfEvent(own).some(([name]) => /^x-webhook-/i.test(name)))
    return own;
  for (const inner of Object.values(value)) {
    const found = deliveryWithin(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first entry of a list that has webhook headers, or the only entry. */
function deliveryIn(list: unknown, name: string): Json {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const records = entries.map((entry) => recordIn(entry)).filter((entry) => entry !== undefined);
  const isDelivery = (entry: Json): boolean =>
    headerLinesOf((recordIn(entry["request"]) ?? entry)["headers"]).some(([header]) =>
      header.toLowerCase().startsWith("x-webhook-"),
    );
  const entry = records.find(isDelivery) ?? (records.length === 1 ? records[0] : undefined);
  if (entry !== undefined) return entry;
  throw new CaptureError("no_delivery", `no entry of ${name} has X-Webhook- headers`);
}

/** ngrok keeps the request as it was sent, in base64. */
function readNgrok(capture: Json, raw: string): FoundRequest {
  const request = parseHttpCapture(Buffer.from(raw, "base64"));
  return { ...request, receivedAt: momentOf(capture["start"]) };
}

function readHarEntry(entry: Json, request: Json): FoundRequest {
  const lines = headerLinesOf(request["headers"]);
  const { text, encoding } = recordIn(request["postData"]) ?? {};
  return {
    method: textIn(request["method"]),
    headers: recordOf(lines),
    body: () => bytesOf(text, encoding === "base64", "postData.text"),
    receivedAt: momentOf(entry["startedDateTime"]),
  };
}

/** A fixture, a serverless event, or a request of webhook.site, which has the body as `content`. */
function readEvent(event: Json): FoundRequest {
  const lines = linesOfEvent(event);
  if (lines.length === 0) throw missingHeaders();
  const { content, isBase64Encoded, method, httpMethod } = event;
  const { body_b64, bodyBase64 = body_b64 } = event;
  // The bytes as they came, beside the parsed body.
  const { body: parsed = content, rawBody, bodyRaw = rawBody, raw_body = bodyRaw } = event;
  const { raw, text = raw } = recordIn(parsed) ?? {};
  // Postman has the body as `body.raw`, and Insomnia as `body.text`.
  const body = raw_body ?? (typeof text === "string" ? text : parsed);
  const context = recordIn(event["requestContext"]);
  const http = recordIn(context?.["http"]);
  const moments = [
    event["receivedAt"],
    context?.["timeEpoch"],
    context?.["requestTimeEpoch"],
    event["created_at"],
  ];
  return {
    method: textIn(method) ?? textIn(httpMethod) ?? textIn(http?.["method"]),
    headers: recordOf(lines),
    body: () =>
      bodyBase64 === undefined
        ? bytesOf(body, isBase64Encoded === true, "body")
        : bytesOf(bodyBase64, true, "bodyBase64"),
    receivedAt: momentOf(moments.find((moment) => moment !== undefined)),
  };
}

/**
 * Prefers `multiValueHeaders` and `rawHeaders`: unlike `headers` they show a header that was sent twice. Postman calls
 * the list `header`.
 */
function linesOfEvent(event: Json): readonly HeaderLine[] {
  const lists = ["multiValueHeaders", "rawHeaders", "headers", "header"].map((name) =>
    headerLinesOf(event[name]),
  );
  return lists.find(({ length }) => length > 0) ?? [];
}

function bytesOf(value: unknown, isBase64: boolean, field: string): Uint8Array {
  // A serverless event without a body has null.
  if (value === null) return new Uint8Array(0);
  if (typeof value === "string") return Buffer.from(value, isBase64 ? "base64" : "utf8");
  if (value === undefined) throw new CaptureError("missing_body", MISSING_BODY);
  throw new CaptureError(
    "invalid_body",
    `${field} must be text: a parsed body cannot be turned back into its bytes; ${RAW_BODY}`,
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
  // webhook.site writes UTC without saying so.
  const isUtc = typeof value === "string" && /^[0-9-]{10} [0-9:]{8}$/.test(value);
  const time = new Date(isUtc ? gatewayTimeMs(value) : value);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function missingHeaders(): CaptureError {
  return new CaptureError(
    "missing_headers",
    "the JSON has no headers: it must be { headers, body }, a serverless event, HAR, a request of ngrok or webhook.site, CGI variables, a line of a log, or an export of Postman or Insomnia",
  );
}
