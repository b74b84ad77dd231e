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
export type { BullmqDeadQueue, BullmqQueue, BullmqWorkerClass } from "./client.js";
export { bullmqConsume, type BullmqConsumeOptions } from "./consume.js";
export { bullmqDeadDeliveries, type BullmqDeadDeliveriesOptions } from "./dead-deliveries.js";
export { bullmqEnqueue, type BullmqEnqueueOptions } from "./enqueue.js";
