// Compiled, never run: the real engines are taken as they are, wrong ones are not, and a worker's handlers
// are typed as a receiver's.
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
  deadDeliveries as bullmqDead,
  type Replayed,
} from "../../src/inbox/bullmq/index.js";
import {
  deadDeliveries as pgBossDead,
  pgBossConsume,
  pgBossEnqueue,
  type DeadDelivery,
} from "../../src/inbox/pg-boss/index.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function assert<T extends true>(): T;

const boss = new PgBoss("postgres://localhost/db");
const queue = new Queue("gateway-deliveries", { connection: { port: 6379 } });
const handlers = { new_alarm: () => undefined };
const workerOptions = { connection: { port: 6379 }, concurrency: 5 };

// The real clients.
createWebhookReceiver({ secret: "s", handlers: inbox({ enqueue: pgBossEnqueue({ boss }) }) });
createWebhookReceiver({ secret: "s", handlers: inbox({ enqueue: bullmqEnqueue({ queue }) }) });
const stop: () => Promise<void> = pgBossConsume({ boss, handlers });
const stopped = bullmqConsume({ Worker, queue: "q", workerOptions, handlers });
assert<Equal<typeof stopped, () => Promise<void>>>();

// One type alone.
const { new_alarm } = inbox({ enqueue: pgBossEnqueue({ boss }) });
createWebhookReceiver({ secret: "s", handlers: { new_alarm } });

// The engines of each other.
// @ts-expect-error -- a Queue of BullMQ is no PgBoss
pgBossEnqueue({ boss: queue });
// @ts-expect-error -- nor does it work one
pgBossConsume({ boss: queue, handlers });
// @ts-expect-error -- a PgBoss is no Queue of BullMQ
bullmqEnqueue({ queue: boss });
// @ts-expect-error -- a Queue is no class of workers
bullmqConsume({ Worker: Queue, queue: "q", workerOptions, handlers });
bullmqConsume({
  // @ts-expect-error -- BullMQ's own options are checked
  Worker,
  queue: "q",
  workerOptions: { connection: {}, concurrency: "5" },
  handlers,
});
// @ts-expect-error -- a worker has a connection
bullmqConsume({ Worker, queue: "q", workerOptions: { concurrency: 5 }, handlers });

// A write of one's own.
inbox({ enqueue: (job, context) => Promise.resolve([job.id, context.id]) });
inbox({
  enqueue: (job, context) => {
    assert<Equal<typeof job, InboxJob>>();
    assert<Equal<typeof context, DeliveryContext>>();
    return Promise.resolve();
  },
});
// @ts-expect-error -- without its promise nobody knows whether the write has happened
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
bullmqConsume({ Worker, queue: "q", workerOptions });
const work = inboxWorker({ handlers });
const result: Promise<InboxResult> = work({}, { takeover: true });
// @ts-expect-error -- the signal is one
const wrong = work({}, { signal: true });
// A result is looked at before its error is.
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
// @ts-expect-error -- one id is a list of one
void bullmqDead({ queue }).replay("3f2504e0");
// @ts-expect-error -- all are discarded by their ids
void pgBossDead({ boss }).discard("all");
