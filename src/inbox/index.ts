export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "./inbox.js";
export type { InboxJob } from "./inbox-job.js";
export type { InboxResult } from "./inbox-result.js";
export { inboxWorker, type InboxWorker } from "./inbox-worker.js";
export type { JobReport } from "./job-report.js";
export type { InboxWorkerOptions } from "./job-runner.js";
export { QueueError } from "./queue-error.js";
