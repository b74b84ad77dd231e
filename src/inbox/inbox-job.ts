import type { DeliveryContext } from "../handling/delivery-context.js";
import { isDeliveryId } from "../delivery/headers.js";
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

/** How a delivery that is done with ended. */
export type DoneOutcome = "handled" | "discarded";

/**
 * What is left of a job that is done with: enough to know the delivery again, and nothing of its body.
 * It also is the record that the handler has finished: a worker that gets such a job, because the one
 * before crashed in between, completes it without the handler.
 */
export interface DoneJob {
  readonly version: 1;
  readonly id: string;
  readonly type: string;
  readonly timestamp: number;
  readonly done: DoneOutcome;
}

/** What is in the queue is no delivery that this version of the library put there. */
export class UnreadableJobError extends Error {
  override readonly name = "UnreadableJobError";
  /** Stable, so that code can branch on it. */
  readonly code = "unreadable_job";

  constructor(expected: string) {
    super(`the job is not one of the inbox: expected ${expected}`);
  }
}

/** The delivery of the job is authentic, but not as documented, and no handler takes it. */
export class UnrecognizedJobError extends Error {
  override readonly name = "UnrecognizedJobError";
  /** Stable, so that code can branch on it. */
  readonly code = "unrecognized_job";
}

const VERSION = 1;
/** X-Webhook-Timestamp has up to 12 digits. */
const MAX_TIMESTAMP = 999_999_999_999;

/** Makes the job of a delivery that the receiver has authenticated. */
export function inboxJobOf({ id, type, timestamp, rawBody }: DeliveryContext): InboxJob {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  return { version: VERSION, id, type, timestamp: seconds, ...textOfBody(rawBody) };
}

/** Takes the body out of a job that is done with. Throws an `UnreadableJobError` for what is no job of ours. */
export function doneJobOf(data: unknown, done: DoneOutcome): DoneJob {
  const { id, type, timestamp } = readHead(data);
  return { version: VERSION, id, type, timestamp, done };
}

/** How the delivery ended, where its handler has already finished. */
export function doneOutcomeOf(data: unknown): DoneOutcome | undefined {
  const { done } = Object(data) as { readonly done?: unknown };
  return done === "handled" || done === "discarded" ? done : undefined;
}

/** Id and type of a job as far as they can be read, without its body. */
export function jobNameOf(data: unknown): { id: string | undefined; type: string | undefined } {
  const { id, type } = Object(data) as Record<string, unknown>;
  return {
    id: isDeliveryId(id) ? id : undefined,
    type: isDeliveryId(type) ? type : undefined,
  };
}

/** Reads what an engine hands out. Throws an `UnreadableJobError`, whose message holds no part of it. */
export function readInboxJob(data: unknown): QueuedDelivery {
  const { id, type, timestamp, encoding, body } = readHead(data);
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

interface JobHead {
  readonly id: string;
  readonly type: string;
  readonly timestamp: number;
  readonly encoding: unknown;
  readonly body: unknown;
}

function readHead(data: unknown): JobHead {
  if (typeof data !== "object" || data === null) throw new UnreadableJobError("an object");
  const { version, id, type, timestamp, encoding, body } = data as Record<string, unknown>;
  if (version !== VERSION) throw new UnreadableJobError(`version ${String(VERSION)}`);
  // The type shares the grammar of the id.
  if (!isDeliveryId(id)) throw new UnreadableJobError("a delivery id in id");
  if (!isDeliveryId(type)) throw new UnreadableJobError("a webhook type in type");
  if (!isTimestamp(timestamp)) throw new UnreadableJobError("Unix seconds in timestamp");
  return { id, type, timestamp, encoding, body };
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
