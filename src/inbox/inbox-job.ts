import { GatewayWebhookError } from "../common/errors.js";
import type { DeliveryContext, DeliveryFacts } from "../handling/delivery-context.js";
import { isDeliveryId } from "../delivery/headers.js";
import type { TraceCarrier } from "../telemetry/telemetry.js";
import { decodeBody, encodeBody } from "./body-encoding.js";

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
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  readonly recovered?: true;
  /** The place of the delivery in a trace (W3C Trace Context), if its receiver is traced. */
  readonly trace?: Readonly<TraceCarrier>;
}

/** The delivery that a worker reads from a job. */
export interface QueuedDelivery extends Omit<DeliveryFacts, "signal" | "takeover"> {
  /** Where the option `overflow` has the body; `rawBody` is then empty. */
  readonly overflowKey?: string;
  /** Empty if the job has no trace. */
  readonly carrier: Readonly<TraceCarrier>;
}

const VERSION = 1;
/** X-Webhook-Timestamp has up to 12 digits. */
const MAX_TIMESTAMP = 999_999_999_999;

/** Makes the job of a delivery that the receiver has authenticated. */
export function inboxJobOf(
  { id, type, timestamp, rawBody, recovered }: DeliveryContext,
  carrier: TraceCarrier = {},
): InboxJob {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const trace = readCarrier(carrier);
  return {
    version: VERSION,
    id,
    type,
    timestamp: seconds,
    ...encodeBody(rawBody),
    ...(recovered === true ? { recovered } : {}),
    ...(trace.traceparent === undefined ? {} : { trace }),
  };
}

/** Delivery id and type of a job, each undefined if it cannot be read. */
export function jobNameOf(data: unknown): { id: string | undefined; type: string | undefined } {
  const { id, type } = Object(data) as Record<string, unknown>;
  return {
    id: isDeliveryId(id) ? id : undefined,
    type: isDeliveryId(type) ? type : undefined,
  };
}

/** Whether the delivery of a job was recovered and not sent. */
export function isRecoveredJob(data: unknown): boolean {
  return (Object(data) as { readonly recovered?: unknown }).recovered === true;
}

/** Reads the data of a job. Throws `unreadable_job`, whose message holds no part of the data. */
export function readInboxJob(data: unknown): QueuedDelivery {
  const { id, type, timestamp, encoding, body } = readHead(data);
  if (typeof body !== "string") throw unreadableJob("a string in body");
  return {
    id,
    type,
    timestamp: new Date(timestamp * 1000),
    rawBody: encoding === "overflow" ? new Uint8Array() : readBody(encoding, body),
    ...(encoding === "overflow" ? { overflowKey: body } : {}),
    ...(isRecoveredJob(data) ? { recovered: true } : {}),
    carrier: readCarrier((data as Partial<InboxJob>).trace),
  };
}

function readHead(data: unknown) {
  if (typeof data !== "object" || data === null) throw unreadableJob("an object");
  const { version, id, type, timestamp, encoding, body } = data as Record<string, unknown>;
  if (version !== VERSION) throw unreadableJob(`version ${String(VERSION)}`);
  if (!isDeliveryId(id)) throw unreadableJob("a delivery id in id");
  // A type has the same grammar as an id.
  if (!isDeliveryId(type)) throw unreadableJob("a webhook type in type");
  if (!isTimestamp(timestamp)) throw unreadableJob("Unix seconds in timestamp");
  return { id, type, timestamp, encoding, body };
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

function isTimestamp(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TIMESTAMP
  );
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
