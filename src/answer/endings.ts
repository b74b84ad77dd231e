import { claimedType, headerFaults } from "../delivery/header-faults.js";
import { HEADERS } from "../delivery/headers.js";
import type { UnreadableBody, WebhookRequest } from "../delivery/request.js";
import type { Decoded } from "../records/decoded.js";
import { spreadRetryAfterMs } from "./retry-after.js";
import type { Ending, Trace } from "./trace.js";
import { headerText } from "../delivery/header-values.js";

/** The end of a request whose body could not be read, or is larger than `maxBodyBytes`. */
export function unreadable({ reason, advice }: UnreadableBody, maxBodyBytes: number): Ending {
  const describeLimit = () => `The limit is ${String(maxBodyBytes)} bytes.`;
  return {
    outcome: reason,
    advice,
    fact: reason === "body_too_large" && advice === undefined ? describeLimit : undefined,
  };
}

/** The end of a request with a header that is missing, repeated or malformed. */
export function malformed(trace: Trace): Ending {
  const { headers } = trace.request;
  noteClaim(trace);
  return { outcome: "malformed", fact: () => headerFaults(headers) };
}

/** The end of a delivery that a redirect in front turned into a request without a body. */
export function redirected(trace: Trace, method: "GET" | "HEAD" | "OPTIONS"): Ending {
  trace.variant = "redirected";
  noteClaim(trace);
  const describeMethod = () =>
    `It came as ${method}, with the headers of a delivery. Register the URL that the redirect leads to: npx identity-gateway-webhooks doctor <url> --redirects shows it.`;
  return { outcome: "malformed", fact: describeMethod };
}

function noteClaim(trace: Trace): void {
  const { headers } = trace.request;
  trace.claimed = claimedType(headers);
  if (trace.claimed === undefined) return;
  try {
    trace.claimedId = headerText(headers, HEADERS.id.name);
  } catch {
    // Headers that were made to be read a few times.
  }
}

/** The end of a request that is not authentic. */
export function notAuthentic(ending: Ending, request: WebhookRequest, rawBody: Uint8Array): Ending {
  if (ending.outcome !== "signature_mismatch") return ending;
  return { outcome: ending.outcome, fact: () => arrivalFacts(request, rawBody) };
}

/** The end of an authentic delivery that no handler takes. */
export function notRun(
  {
    kind,
    advice,
  }: { readonly kind: "unhandled" | "unrecognized"; readonly advice?: string | undefined },
  decoded: Decoded,
  request: WebhookRequest,
  rawBody: Uint8Array,
): Ending {
  const isJson = decoded.kind !== "unrecognized" || decoded.body !== undefined;
  return { outcome: kind, advice, fact: isJson ? undefined : () => arrivalFacts(request, rawBody) };
}

/** The end of a delivery that came while as many were running as may. */
export function overloaded(id: string): Ending {
  return { outcome: "overloaded", retryAfterMs: spreadRetryAfterMs(id) };
}

/** The end of a request whose signed timestamp is outside the tolerance. */
export function stale(timestampMs: number, nowMs: number, toleranceMs: number): Ending {
  return { outcome: "stale", fact: () => staleness(timestampMs, nowMs, toleranceMs) };
}

/** By how much a stale timestamp misses the tolerance, and in which direction, for the log. */
function staleness(timestampMs: number, nowMs: number, toleranceMs: number): string {
  const offMs = nowMs - timestampMs;
  if (!Number.isFinite(offMs)) return "The option now gave no number.";
  const beyond = `${seconds(Math.abs(offMs) - toleranceMs)} s`;
  const tolerance = `timestampToleranceMs (${String(toleranceMs)}) allows`;
  return offMs > 0
    ? `Signed ${seconds(offMs)} s ago: ${beyond} older than ${tolerance}.`
    : `Signed ${seconds(-offMs)} s ahead of this clock: ${beyond} more than ${tolerance}.`;
}

/** Whole seconds, rounded up, so that no delivery is reported as 0 s too old. */
function seconds(ms: number): string {
  return String(Math.ceil(ms / 1000));
}

const ENCODINGS = ["gzip", "br", "deflate"];

/**
 * How the arrival of a body differs from that of a clean delivery, for the log; empty if nothing differs. Anyone may
 * have written these headers, so the text consists of fixed words and numbers only. Throws if they cannot be read twice.
 */
function arrivalFacts({ headers, bodySource }: WebhookRequest, body: Uint8Array): string {
  const encoding = headerText(headers, "content-encoding")?.trim().toLowerCase() ?? "identity";
  const length = /^[0-9]{1,15}$/.exec(headerText(headers, "content-length") ?? "")?.[0];
  const facts: string[] = [];
  if (encoding !== "identity") {
    facts.push(`content-encoding ${ENCODINGS.includes(encoding) ? encoding : "other"}`);
  }
  if (length !== undefined && Number(length) !== body.length) {
    facts.push(`${String(body.length)} bytes read, but content-length ${String(Number(length))}`);
  }
  if (body[0] === 0x1f && body[1] === 0x8b) facts.push("the body begins as gzip");
  if (headerText(headers, "via") !== undefined) facts.push("via: yes");
  const isKept = bodySource === "rawBody" || bodySource === "body";
  if (isKept || (bodySource === "wire" && facts.length > 0)) {
    facts.push(`bytes from ${bodySource === "wire" ? "the wire" : bodySource}`);
  }
  return facts.length === 0 ? "" : `Not as in a clean delivery: ${facts.join("; ")}.`;
}
