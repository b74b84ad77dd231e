import { GatewayWebhookError } from "../common/errors.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { HEADER_ROWS, headersOf, withOthers } from "../delivery/header-values.js";
import { HEADERS, isDeliveryId, type DeliveryHeaders } from "../delivery/headers.js";
import { recordOf } from "../records/decode.js";
import { digitsToNumber } from "../records/record-fields.js";
import { isListedId } from "../delivery/recovered-delivery.js";
import type { TraceCarrier } from "../telemetry/telemetry.js";

/**
 * The data of a job in the queue: one authentic delivery, as JSON.
 *
 * Jobs outlive deploys, so the shape has a version. A worker that cannot read a job fails it, and the
 * engine tries it again, so a newer worker can take it. New fields may appear without a new version;
 * ignore those you do not know. `body` holds personal data: anyone who can read the queue can read it.
 */
export interface InboxJob {
  /** The version of this shape. */
  readonly version: 1;
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** X-Webhook-Timestamp: Unix time in seconds. */
  readonly timestamp: number;
  /**
   * How `body` was made from the signed bytes: `base64` if they are not UTF-8, contain a zero byte, or would be
   * longer as JSON text; `overflow` if the option `overflow` has them.
   */
  readonly encoding: "utf-8" | "base64" | "overflow";
  /** The exact bytes that were signed, in `encoding`; with `overflow` the key of the body there. */
  readonly body: string;
  /** The account of the record, if `overflow` has the body. */
  readonly account_id?: unknown;
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  readonly recovered?: true;
  /** The place of the delivery in a trace (W3C Trace Context), if its receiver is traced. */
  readonly trace?: Readonly<TraceCarrier>;
}

/** The delivery that a worker reads from a job. */
export interface QueuedDelivery {
  readonly headers: DeliveryHeaders;
  readonly rawBody: Uint8Array;
  readonly recovered: boolean;
  /** Where the option `overflow` has the body; `rawBody` is then empty. */
  readonly overflowKey?: string;
  /** Empty if the job has no trace. */
  readonly carrier: Readonly<TraceCarrier>;
}

const VERSION = 1;

/** Makes the job of a delivery that the receiver has authenticated. */
export function inboxJobOf(context: DeliveryContext, carrier: TraceCarrier = {}): InboxJob {
  const { id, type, timestamp, rawBody, recovered } = context;
  const trace = readCarrier(carrier);
  const job: InboxJob = {
    version: VERSION,
    id,
    type,
    timestamp: Math.floor(timestamp.getTime() / 1000),
    ...encodeBody(rawBody),
    ...(recovered === true ? { recovered } : {}),
    ...(trace.traceparent === undefined ? {} : { trace }),
  };
  return withOthers(job, context);
}

/**
 * Delivery id and type of a job, each undefined if it cannot be read. A job without a version is of another program,
 * whose ids are no delivery ids.
 */
export function jobNameOf(data: unknown): { id: string | undefined; type: string | undefined } {
  const { version, id, type } = Object(data) as Record<string, unknown>;
  if (!Number.isInteger(version)) return { id: undefined, type: undefined };
  return {
    id: isQueuedId(id) ? id : undefined,
    type: isDeliveryId(type) ? type : undefined,
  };
}

/** Whether a value can be the id of a job: of a delivery, or of a record that `recoverRecord` took from a list. */
export function isQueuedId(value: unknown): value is string {
  return isDeliveryId(value) || isListedId(value);
}

/** The key of the body of a job in `overflow`: its id without `#`, with which the fragment of a URL begins. */
export function overflowKeyOf(id: string): string {
  return id.replaceAll("#", ".");
}

/** The account of the record in a job, as the receiver reads it; undefined if it cannot be read. */
export function accountOfJob(data: unknown): number | undefined {
  try {
    const { rawBody, overflowKey } = readInboxJob(data);
    const record = overflowKey === undefined ? recordOf(rawBody) : data;
    const { account_id } = Object(record) as { readonly account_id?: unknown };
    const account = digitsToNumber(account_id);
    return typeof account === "number" ? account : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the delivery of a job was recovered and not sent. */
export function isRecoveredJob(data: unknown): boolean {
  return (Object(data) as { readonly recovered?: unknown }).recovered === true;
}

/** Reads the data of a job. Throws `unreadable_job`, whose message holds no part of the data. */
export function readInboxJob(data: unknown): QueuedDelivery {
  if (typeof data !== "object" || data === null) throw unreadableJob("an object");
  const { version, encoding, body, trace } = data as Record<string, unknown>;
  if (version !== VERSION) throw unreadableJob(`version ${String(VERSION)}`);
  const headers = readHeaders(data as Record<string, unknown>);
  if (typeof body !== "string") throw unreadableJob("a string in body");
  // With another key the job would read the body of another delivery, or any file of the bucket.
  if (encoding === "overflow" && body !== overflowKeyOf(headers.id)) {
    throw unreadableJob("the key of its own id in body");
  }
  return {
    headers,
    rawBody: encoding === "overflow" ? new Uint8Array() : readBody(encoding, body),
    ...(encoding === "overflow" ? { overflowKey: body } : {}),
    recovered: isRecoveredJob(data),
    carrier: readCarrier(trace),
  };
}

/** A job has the seconds as a number, and no signature. */
function readHeaders(data: Record<string, unknown>) {
  const { timestamp } = data;
  const seconds = typeof timestamp === "number" ? String(timestamp) : undefined;
  // The grammar of the header has no `#`, which only the id of a listed record has.
  const id = isListedId(data["id"]) ? "list" : data["id"];
  const values: Record<string, unknown> = { ...data, id, timestamp: seconds, signature: undefined };
  const headers = headersOf(HEADER_ROWS.map(([key]) => values[key]));
  if (typeof headers !== "string") return { ...headers, id: data["id"] as string };
  throw unreadableJob(`${HEADERS[headers].meaning} in ${headers}`);
}

/** W3C Trace Context, section 3.2. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** W3C Trace Context, section 3.3.1.5: at least 512 characters are passed on. */
const MAX_TRACESTATE = 512;

/** What a carrier may hold. Anything else is left out: it comes from a queue, or from the user's telemetry. */
function readCarrier(carrier: unknown): TraceCarrier {
  const { traceparent, tracestate } = Object(carrier) as Record<string, unknown>;
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return {};
  const isState = typeof tracestate === "string" && tracestate.length <= MAX_TRACESTATE;
  return isState && tracestate !== "" ? { traceparent, tracestate } : { traceparent };
}

function readBody(encoding: unknown, body: string): Uint8Array {
  if (encoding !== "utf-8" && encoding !== "base64") {
    throw unreadableJob('"utf-8" or "base64" in encoding');
  }
  try {
    return decodeBody({ encoding, body });
  } catch {
    // Not kept as the cause: on some platforms the message quotes the body.
    throw unreadableJob("base64 in body");
  }
}

/** The data of a job is not what this version of the library writes into a queue. */
export function unreadableJob(expected: string): GatewayWebhookError {
  const message = `the job was not made by the inbox: expected ${expected}`;
  return new GatewayWebhookError("unreadable_job", message);
}

/** A body as text that every JSON column stores without loss. */
interface EncodedBody {
  /** How `body` was made from the bytes. */
  readonly encoding: "utf-8" | "base64";
  readonly body: string;
}

// Strict, and it keeps a byte order mark: decoding must return exactly the bytes that were signed.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Bytes per call of `String.fromCharCode`. A whole body as arguments would overflow the stack. */
const CHUNK_BYTES = 8_192;

/** Encodes bytes as readable text if they are UTF-8 and no longer so than as base64; otherwise as base64. */
function encodeBody(bytes: Uint8Array): EncodedBody {
  try {
    const body = decoder.decode(bytes);
    const escapes = JSON.stringify(body).length - body.length - 2;
    // PostgreSQL's jsonb refuses U+0000.
    if (!body.includes("\0") && escapes <= bytes.length / 3) return { encoding: "utf-8", body };
  } catch {
    // Not UTF-8.
  }
  return { encoding: "base64", body: toBase64(bytes) };
}

/** Returns the bytes of an encoded body. Throws if `body` does not match its encoding. */
function decodeBody({ encoding, body }: EncodedBody): Uint8Array {
  if (encoding === "utf-8") return encoder.encode(body);
  return Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
  }
  return btoa(binary);
}
