export { inboxConsume, type InboxConsumeOptions, type InboxConsumer } from "./consume.js";
export { inbox, type InboxHandlers, type InboxOptions } from "./inbox.js";
export type { InboxJob } from "./inbox-job.js";
export type { JobReport } from "./job-report.js";
export type { InboxOverflow } from "./overflow.js";
export type {
  QueueConsumer,
  QueueDriver,
  QueueMessage,
  QueueProducer,
  QueueSettlement,
} from "./queue-driver.js";
export { QueueError } from "./queue-error.js";
