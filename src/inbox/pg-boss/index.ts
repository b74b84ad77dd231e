export type {
  DeadDeliveries,
  DeadDelivery,
  Discarded,
  ListOptions,
  Replayed,
} from "../dead-deliveries.js";
export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "../inbox.js";
export { UnreadableJobError, UnrecognizedJobError, type InboxJob } from "../inbox-job.js";
export { DeadJobError, type JobReport, type OnJob } from "../job-report.js";
export { pgBossEnqueue, type PgBossEnqueueOptions } from "./enqueue.js";
export { pgBossConsume, type PgBossConsumeOptions } from "./consume.js";
export { deadDeliveries, type PgBossDeadDeliveriesOptions } from "./dead-deliveries.js";
export type { PgBossConsumer, PgBossDatabase, PgBossJob, PgBossProducer } from "./client.js";
export { JobFailure } from "../job-failure.js";
export { QueueError } from "../queue-error.js";
export { WorkerStoppingError } from "../stop-reasons.js";
