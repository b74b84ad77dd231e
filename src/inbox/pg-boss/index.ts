export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";
export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "../inbox.js";
export type { InboxJob } from "../inbox-job.js";
export type { JobReport } from "../job-report.js";
export { QueueError } from "../queue-error.js";
export { pgBossConsume, type PgBossConsumeOptions } from "./consume.js";
export { pgBossDeadDeliveries } from "./dead-deliveries.js";
export { pgBossEnqueue, type PgBossEnqueueOptions } from "./enqueue.js";
