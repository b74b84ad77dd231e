import type { DeliveryContext } from "../delivery-context.js";
import { isDeliveryId } from "../headers.js";
import { bodyOfText, textOfBody, type BodyText } from "./body-text.js";

/**
 * What stands in the queue: one authentic delivery, as JSON. Jobs outlive deploys, so the shape has a
 * version: what a worker of this version cannot read fails, and is tried again by the engine, so that a
 * newer worker can take it. Fields may be added without a new version, and are ignored by who does not
 * know them. `body` holds personal data: whoever can read the queue can read the alarms.
 */
export interface InboxJob extends BodyText {
  /** The version of this shape. */
  readonly version: 1;
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** X-Webhook-Timestamp: Unix time in seconds. */
  readonly timestamp: number;
  /** How `body` was made of the signed bytes: `base64` where they are not UTF-8, or hold a zero byte. */
  readonly encoding: "utf-8" | "base64";
  /** The exact bytes that were signed, in `encoding`. */
  readonly body: string;
}

/** A job that a worker reads again. */
export interface QueuedDelivery {
  readonly id: string;
  readonly type: string;
  readonly timestamp: Date;
  readonly rawBody: Uint8Array;
}

/** What is in the queue is no delivery that this version of the library put there. */
export class UnreadableJobError extends Error {
  override readonly name = "UnreadableJobError";

  constructor(expected: string) {
    super(`the job is not one of the inbox: expected ${expected}`);
  }
}

const VERSION = 1;
/** X-Webhook-Timestamp has up to 12 digits. */
const MAX_TIMESTAMP = 999_999_999_999;

/** Makes the job of a delivery that the receiver has authenticated. */
export function inboxJobOf({ id, type, timestamp, rawBody }: DeliveryContext): InboxJob {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  return { version: VERSION, id, type, timestamp: seconds, ...textOfBody(rawBody) };
}

/** Reads what an engine hands out. Throws an `UnreadableJobError`, whose message holds no part of it. */
export function readInboxJob(data: unknown): QueuedDelivery {
  if (typeof data !== "object" || data === null) throw new UnreadableJobError("an object");
  const { version, id, type, timestamp, encoding, body } = data as Record<string, unknown>;
  if (version !== VERSION) throw new UnreadableJobError(`version ${String(VERSION)}`);
  // The type shares the grammar of the id.
  if (!isDeliveryId(id)) throw new UnreadableJobError("a delivery id in id");
  if (!isDeliveryId(type)) throw new UnreadableJobError("a webhook type in type");
  if (!isTimestamp(timestamp)) throw new UnreadableJobError("Unix seconds in timestamp");
  if (encoding !== "utf-8" && encoding !== "base64") {
    throw new UnreadableJobError('"utf-8" or "base64" in encoding');
  }
  if (typeof body !== "string") throw new UnreadableJobError("a string in body");
  return {
    id,
    type,
    timestamp: new Date(timestamp * 1000),
    rawBody: readBody({ encoding, body }),
  };
}

function isTimestamp(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TIMESTAMP
  );
}

function readBody(text: BodyText): Uint8Array {
  try {
    return bodyOfText(text);
  } catch {
    // The error is dropped: another platform's may quote the body.
    throw new UnreadableJobError("base64 in body");
  }
}
