export type {
  DeadDeliveries,
  DeadDelivery,
  Discarded,
  ListOptions,
  Replayed,
} from "../dead-deliveries.js";
export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "../inbox.js";
export type { InboxJob } from "../inbox-job.js";
export type { JobReport, OnJob } from "../job-report.js";
export { QueueError } from "../queue-error.js";
export type { PgBossConsumer, PgBossDatabase, PgBossProducer } from "./client.js";
export { pgBossConsume, type PgBossConsumeOptions } from "./consume.js";
export { pgBossDeadDeliveries, type PgBossDeadDeliveriesOptions } from "./dead-deliveries.js";
export { pgBossEnqueue, type PgBossEnqueueOptions } from "./enqueue.js";
