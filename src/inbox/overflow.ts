import { requireMethods } from "../common/option-checks.js";
import { isPromise } from "../common/promises.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { within } from "../common/timers.js";
import { recordOf } from "../records/decode.js";
import { isQueuedId, overflowKeyOf, type InboxJob, type QueuedDelivery } from "./inbox-job.js";
import { QueueError, queueErrorOf } from "./queue-error.js";
import { SETTLE_TIMEOUT_MS } from "./queue-options.js";

/**
 * Keeps bodies that are too large for the queue: three functions over S3, R2 or a table. Bodies are personal
 * data. Without `delete` nothing removes them, and a crash may leave one behind, so give the bucket a rule that deletes
 * them after two weeks.
 *
 * @example
 * const overflow: InboxOverflow = {
 *   put: (key, body) => bucket.put(key, body),
 *   get: async (key) => new Uint8Array(await (await bucket.get(key)).arrayBuffer()),
 *   delete: (key) => bucket.delete(key),
 * };
 */
export interface InboxOverflow {
  /** Stores `body`. Resolves when a crash of this process would not lose it. */
  put(key: string, body: Uint8Array): PromiseLike<unknown>;
  /** Resolves to the stored body. Rejects if there is none. */
  get(key: string): PromiseLike<Uint8Array>;
  /**
   * Removes a body whose job has ended, or was discarded. It may be gone already. If this rejects or takes longer than
   * 10 seconds, the body may stay: the job has ended all the same.
   */
  delete?(key: string): PromiseLike<unknown>;
}

/** More than a job has beside its body: id, type, timestamp, trace and names. Bytes of JSON. */
const HEAD_BYTES = 2_048;
const GET_TIMEOUT_MS = 30_000;
/** How many bodies are removed at once. */
const LOT_SIZE = 20;
const encoder = new TextEncoder();

/** The largest body whose job surely fits into `maxJobBytes`: no encoding of a body takes more than base64. */
export function maxBodyBytesOf(maxJobBytes: number): number {
  return Math.max(0, Math.floor((maxJobBytes - HEAD_BYTES) / 4) * 3);
}

/** The job as the queue takes it. A body that is too large goes to `overflow`. */
export async function fitted(
  job: InboxJob,
  { rawBody }: DeliveryContext,
  maxJobBytes: number | undefined,
  overflow: InboxOverflow | undefined,
): Promise<InboxJob> {
  if (maxJobBytes === undefined) return job;
  if (encoder.encode(JSON.stringify(job)).length <= maxJobBytes) return job;
  if (overflow === undefined) {
    throw new QueueError("the job is larger than maxJobBytes of the driver: give inbox overflow");
  }
  const key = overflowKeyOf(job.id);
  const written: unknown = overflow.put(key, rawBody);
  // As in `put` of a driver: a forgotten `return` would acknowledge a body that is nowhere.
  if (!isPromise(written)) throw new QueueError("overflow.put must return a promise");
  await written;
  const { account_id } = Object(recordOf(rawBody)) as { readonly account_id?: unknown };
  return { ...job, encoding: "overflow", body: key, account_id };
}

/** The delivery of a job, with its body from `overflow` if it is there. */
export async function withBody(
  { overflowKey, ...delivery }: QueuedDelivery,
  overflow: InboxOverflow | undefined,
): Promise<QueuedDelivery> {
  if (overflowKey === undefined) return delivery;
  if (overflow === undefined) {
    throw new QueueError("the body of the job is in overflow: give inboxConsume the same overflow");
  }
  try {
    const body = overflow.get(overflowKey);
    return { ...delivery, rawBody: await within(GET_TIMEOUT_MS, "overflow.get", body) };
  } catch (error) {
    throw queueErrorOf("the body of the job could not be read from overflow", error);
  }
}

/** Removes the body of a job. Waits no longer for it than for the queue. */
export async function removeBody(overflow: InboxOverflow, id: string): Promise<void> {
  const removing = overflow.delete?.(overflowKeyOf(id));
  if (removing !== undefined) await within(SETTLE_TIMEOUT_MS, "overflow.delete", removing);
}

/** Tries to remove the bodies of jobs that are gone. Then throws an error with the keys of those that remain. */
export async function removeBodies(overflow: InboxOverflow, ids: Iterable<string>): Promise<void> {
  // Any other id is the engine's own, of a job that has no body there.
  const keyed = [...ids].filter(isQueuedId);
  const left = new Map<string, unknown>();
  for (let at = 0; at < keyed.length; at += LOT_SIZE) {
    const removing = keyed.slice(at, at + LOT_SIZE).map(async (id) => {
      await removeBody(overflow, id).catch((error: unknown) => left.set(overflowKeyOf(id), error));
    });
    await Promise.all(removing);
  }
  if (left.size === 0) return;
  const [error] = left.values();
  const { message } = queueErrorOf("overflow.delete", error);
  const keys = [...left.keys()].join(", ");
  throw new QueueError(`${message}; these bodies stay in overflow without a job: ${keys}`);
}

/** Whether the body of a job is in `overflow`. */
export function isInOverflow(data: unknown): boolean {
  return (Object(data) as { readonly encoding?: unknown }).encoding === "overflow";
}

/** Throws `ConfigurationError` for an `overflow` without one of its functions. */
export function checkOverflow(overflow: InboxOverflow | undefined): void {
  if (overflow === undefined) return;
  const names = overflow.delete === undefined ? ["put", "get"] : ["put", "get", "delete"];
  requireMethods(overflow, names, (name) => `overflow must have the function ${name}`);
}
