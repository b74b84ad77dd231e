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
export { bullmqEnqueue, type BullmqEnqueueOptions } from "./enqueue.js";
export { bullmqConsume, type BullmqConsumeOptions } from "./consume.js";
export { deadDeliveries, type BullmqDeadDeliveriesOptions } from "./dead-deliveries.js";
export type {
  BullmqDeadJob,
  BullmqDeadQueue,
  BullmqJob,
  BullmqProcessor,
  BullmqQueue,
  BullmqWorker,
  BullmqWorkerClass,
} from "./client.js";
export { JobFailure } from "../job-failure.js";
export { QueueError } from "../queue-error.js";
export { JobLockLostError, WorkerStoppingError } from "../stop-reasons.js";
