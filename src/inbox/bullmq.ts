export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "./inbox.js";
export type { InboxJob } from "./inbox-job.js";
export { bullmqEnqueue, type BullmqEnqueueOptions } from "./bullmq/enqueue.js";
export { bullmqConsume, type BullmqConsumeOptions } from "./bullmq/consume.js";
export type {
  BullmqJob,
  BullmqProcessor,
  BullmqQueue,
  BullmqWorker,
  BullmqWorkerClass,
} from "./bullmq/client.js";
