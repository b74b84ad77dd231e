// Compiled, never run: the real clients of the engines fit, wrong ones do not, and the handlers of a worker
// have the types of a receiver's.
import { Queue, Worker } from "bullmq";
import PgBoss from "pg-boss";
import { createWebhookReceiver, type Alarm, type DeliveryContext } from "../../src/index.js";
import {
  inbox,
  inboxWorker,
  type InboxHandlers,
  type InboxJob,
  type InboxResult,
  type JobReport,
} from "../../src/inbox/index.js";
import {
  bullmqConsume,
  bullmqEnqueue,
  bullmqDeadDeliveries as bullmqDead,
} from "../../src/inbox/bullmq/index.js";
import type { Replayed } from "../../src/inbox/dead-deliveries.js";
import {
  pgBossDeadDeliveries as pgBossDead,
  pgBossConsume,
  pgBossEnqueue,
  type DeadDelivery,
} from "../../src/inbox/pg-boss/index.js";
import { type Equal } from "./proofs.js";

declare function assert<T extends true>(): T;

const boss = new PgBoss("postgres://localhost/db");
const queue = new Queue("gateway-deliveries", { connection: { port: 6379 } });
const handlers = { new_alarm: () => undefined };
const workerOptions = { connection: { port: 6379 }, concurrency: 5 };

// The real clients.
createWebhookReceiver({ secret: "s", handlers: inbox({ enqueue: pgBossEnqueue({ boss }) }) });
createWebhookReceiver({ secret: "s", handlers: inbox({ enqueue: bullmqEnqueue({ queue }) }) });
const stop: () => Promise<void> = pgBossConsume({ boss, handlers });
const stopped = bullmqConsume({ Worker, queueName: "q", workerOptions, handlers });
assert<Equal<typeof stopped, () => Promise<void>>>();
bullmqConsume({ Worker, workerOptions, handlers });

// A queue object is `queue`, and its name is `queueName`.
// @ts-expect-error -- bullmqEnqueue takes a Queue object
bullmqEnqueue({ queue: "gateway-deliveries" });
// @ts-expect-error -- bullmqConsume takes a name
bullmqConsume({ Worker, queue, workerOptions, handlers });
// @ts-expect-error -- pgBossConsume takes queueName
pgBossConsume({ boss, queue: "gateway-deliveries", handlers });

// A single type.
const { new_alarm } = inbox({ enqueue: pgBossEnqueue({ boss }) });
createWebhookReceiver({ secret: "s", handlers: { new_alarm } });

// The wrong engine.
// @ts-expect-error -- a Queue of BullMQ is no PgBoss
pgBossEnqueue({ boss: queue });
// @ts-expect-error -- a Queue of BullMQ is no PgBoss
pgBossConsume({ boss: queue, handlers });
// @ts-expect-error -- a PgBoss is no Queue of BullMQ
bullmqEnqueue({ queue: boss });
// @ts-expect-error -- a Queue is no Worker class
bullmqConsume({ Worker: Queue, queueName: "q", workerOptions, handlers });
bullmqConsume({
  // @ts-expect-error -- BullMQ's own options are checked
  Worker,
  queueName: "q",
  workerOptions: { connection: {}, concurrency: "5" },
  handlers,
});
// @ts-expect-error -- the connection is required
bullmqConsume({ Worker, queueName: "q", workerOptions: { concurrency: 5 }, handlers });

// Your own enqueue.
inbox({ enqueue: (job, context) => Promise.resolve([job.id, context.id]) });
inbox({
  enqueue: (job, context) => {
    assert<Equal<typeof job, InboxJob>>();
    assert<Equal<typeof context, DeliveryContext>>();
    return Promise.resolve();
  },
});
// @ts-expect-error -- without a promise the end of the write is unknown
inbox({ enqueue: (job) => job.id });

// A worker's handlers.
pgBossConsume({
  boss,
  handlers: {
    new_alarm: (alarm, context) => {
      assert<Equal<typeof alarm, Alarm>>();
      assert<Equal<typeof context, DeliveryContext>>();
    },
    delete_my_data_event: {
      DATA_REAPPEARED: (event) => event.site_id.toFixed(),
      POWER_OF_ATTORNEY_SIGNED: (event) => assert<Equal<typeof event.site_id, null>>(),
    },
  },
});
// @ts-expect-error -- no such handler
pgBossConsume({ boss, handlers: { old_alarm: () => undefined } });
// @ts-expect-error -- no handlers
bullmqConsume({ Worker, queueName: "q", workerOptions });
const work = inboxWorker({ handlers });
const result: Promise<InboxResult> = work({}, { takeover: true });
// @ts-expect-error -- signal must be an AbortSignal
const wrong = work({}, { signal: true });
// The error of a result exists only after its outcome is checked.
assert<Equal<keyof InboxResult, "outcome">>();

// A write in the transaction of the store.
interface Transaction {
  query(text: string): Promise<unknown>;
}
const joined = inbox({
  enqueue: (job, { tx }: DeliveryContext<Transaction>) => tx.query(job.id),
});
assert<Equal<typeof joined, InboxHandlers<DeliveryContext<Transaction>>>>();
// @ts-expect-error -- without such a store there is no transaction
createWebhookReceiver({ secret: "s", handlers: joined });

// A worker's reports, and the dead deliveries of the real clients.
pgBossConsume({
  boss,
  handlers,
  onJob: ({ outcome, error }) => {
    assert<
      Equal<typeof outcome, "handled" | "discarded" | "retry_later" | "handler_failed" | "dead">
    >();
    assert<Equal<typeof error, unknown>>();
  },
});
// @ts-expect-error -- a report has no body
assert<Equal<JobReport["body"], string>>();
const letters: Promise<DeadDelivery[]> = pgBossDead({ boss }).list({ limit: 10 });
const replayed: Promise<Replayed> = bullmqDead({ queue }).replay("all");
// @ts-expect-error -- a single id must be in an array
void bullmqDead({ queue }).replay("3f2504e0");
// @ts-expect-error -- discard needs ids
void pgBossDead({ boss }).discard("all");
