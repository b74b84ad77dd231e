export { inbox, type Enqueue, type InboxHandlers, type InboxOptions } from "./inbox.js";
export type { InboxJob } from "./inbox-job.js";
export { pgBossEnqueue, type PgBossEnqueueOptions } from "./pg-boss/enqueue.js";
export { pgBossConsume, type PgBossConsumeOptions } from "./pg-boss/consume.js";
export type { PgBossConsumer, PgBossJob, PgBossProducer } from "./pg-boss/client.js";
