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
  const text = new TextEncoder().encode(NAMESPACE + id);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  const hex = Array.from(digest.subarray(0, 16), (byte, at) => {
    if (at === 6) return (byte & 0x0f) | 0x80;
    if (at === 8) return (byte & 0x3f) | 0x80;
    return byte;
  })
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
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
