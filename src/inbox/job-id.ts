import { sha256Hex } from "../common/digest.js";

/** Part of the hashed text, so that another program that hashes the same id gets another UUID. */
const NAMESPACE = "identity-gateway-webhooks:delivery:";
const CANONICAL_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UUID = new RegExp(CANONICAL_UUID, "i");

/**
 * The job id of a delivery in pg-boss, which takes only UUIDs. A delivery id that is a canonical UUID, as
 * the gateway's are, is used as it is. Any other id becomes a UUID of version 8 from its SHA-256 hash (RFC
 * 9562, appendix B.2), always the same for that id. Upper case is hashed too: PostgreSQL treats both cases
 * as one UUID, and two different delivery ids must not become one job.
 */
export async function pgBossJobId(id: string): Promise<string> {
  if (CANONICAL_UUID.test(id)) return id;
  const hex = await digestOf(id);
  const variant = ((parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}

function digestOf(id: string): Promise<string> {
  return sha256Hex(NAMESPACE + id);
}

/** The longest key of a store. */
const MAX_KEY_LENGTH = 128;

/**
 * The key under which a worker claims a delivery. A receiver with the same store completes the delivery id itself as
 * soon as the job is put, so the worker needs another key.
 */
export async function jobKeyOf(id: string): Promise<string> {
  const key = `job.${id}`;
  return key.length <= MAX_KEY_LENGTH ? key : `job.${await digestOf(id)}`;
}

/**
 * The job id of a delivery in BullMQ. A delivery id that is a UUID is used as it is. Any other id gets the
 * prefix `#`, which no delivery id contains: BullMQ refuses whole numbers, and it stores jobs beside the
 * keys of the queue itself, so a job named `wait` or `meta` would break the queue.
 */
export function bullmqJobId(id: string): string {
  return UUID.test(id) ? id : `#${id}`;
}

/** The delivery id of a BullMQ job. A job that the inbox did not make keeps its own id. */
export function deliveryIdOfBullmqJob(jobId: string): string {
  return jobId.startsWith("#") ? jobId.slice(1) : jobId;
}
