export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "./inbox.js";
export type { InboxJob } from "./inbox-job.js";
export {
  inboxWorker,
  type InboxResult,
  type InboxRun,
  type InboxWorker,
  type InboxWorkerOptions,
} from "./inbox-worker.js";
