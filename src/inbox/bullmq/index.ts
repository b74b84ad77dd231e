export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";
export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "../inbox.js";
export type { InboxJob } from "../inbox-job.js";
export type { JobReport } from "../job-report.js";
export { QueueError } from "../queue-error.js";
export { bullmqConsume, type BullmqConsumeOptions } from "./consume.js";
export { bullmqDeadDeliveries } from "./dead-deliveries.js";
export { bullmqEnqueue, type BullmqEnqueueOptions } from "./enqueue.js";
