const UUID = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/**
 * The id under which a delivery stands in BullMQ: its own, where that is a UUID, as the gateway's are.
 * Others get a character in front that no delivery id has: BullMQ refuses whole numbers, and keeps each
 * job under a Redis key beside those of the queue itself, so that a delivery named `wait` or `meta` would
 * break it.
 */
export function bullmqJobId(id: string): string {
  return UUID.test(id) ? id : `#${id}`;
}

/** The delivery of a job; of a job that is not ours, its own id. */
export function deliveryIdOf(jobId: string): string {
  return jobId.startsWith("#") ? jobId.slice(1) : jobId;
}
