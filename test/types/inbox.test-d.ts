// Compiled, never run: wrong clients of the engines do not fit, and the handlers of a worker have the types of a
// receiver's. That the real clients fit, the contract tests of each engine show.
import { connect } from "@nats-io/transport-node";
import amqplib from "amqplib";
import { Queue, Worker } from "bullmq";
import { PgBoss } from "pg-boss";
import {
  createWebhookReceiver,
  type Alarm,
  type DeliveryContext,
  type DeliveryStore,
  type TransactionalStore,
} from "../../src/index.js";
import {
  inbox,
  inboxConsume,
  type InboxConsumer,
  type InboxHandlers,
  type InboxJob,
  type JobReport,
  type QueueDriver,
} from "../../src/inbox/index.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import type { Replayed } from "../../src/inbox/dead-deliveries.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { pgBossQueue, type DeadDelivery } from "../../src/inbox/pg-boss/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { type Equal, proves } from "./proofs.js";

const boss = new PgBoss("postgres://localhost/db");
const queue = new Queue("gateway-deliveries", { connection: { port: 6379 } });
const handlers = { new_alarm: () => undefined };
declare const driver: QueueDriver;
declare const store: DeliveryStore;
const workerOptions = { connection: { port: 6379 }, lockDuration: 5_000 };

const connection = await connect();

// A queue object is `queue`, and its name is `queueName`.
// @ts-expect-error -- bullmqQueue takes a Queue object
bullmqQueue({ queue: "gateway-deliveries" });
// @ts-expect-error -- pgBossQueue takes queueName
pgBossQueue({ boss, queue: "gateway-deliveries" });

// A single type.
const { new_alarm } = inbox({ driver: pgBossQueue({ boss }) });
createWebhookReceiver({ secret: "s", handlers: { new_alarm } });

// The wrong engine.
// @ts-expect-error -- a Queue of BullMQ is no PgBoss
pgBossQueue({ boss: queue });
// @ts-expect-error -- connect is a function, called again after a loss
rabbitmqQueue({ connect: amqplib.connect("amqp://localhost") });
// @ts-expect-error -- a connection is no JetStream client
natsQueue({ connection, jetstream: connection });
// @ts-expect-error -- a PgBoss is no Queue of BullMQ
bullmqQueue({ queue: boss });
// @ts-expect-error -- a Queue is no Worker class
bullmqQueue({ Worker: Queue, queueName: "q", workerOptions });
bullmqQueue({
  // @ts-expect-error -- BullMQ's own options are checked
  Worker,
  queueName: "q",
  workerOptions: { connection: {}, lockDuration: "5" },
});
// @ts-expect-error -- the connection is required
bullmqQueue({ Worker, queueName: "q", workerOptions: { lockDuration: 5_000 } });

// Your own driver.
inbox({
  driver: {
    put(job, context) {
      proves<Equal<typeof job, InboxJob>>();
      proves<Equal<typeof context, DeliveryContext>>();
      return Promise.resolve();
    },
  },
});
// @ts-expect-error -- without a promise the end of the write is unknown
inbox({ driver: { put: (job) => job.id } });

// A worker's handlers.
inboxConsume({
  driver,
  store,
  handlers: {
    new_alarm: (alarm, context) => {
      proves<Equal<typeof alarm, Alarm>>();
      proves<Equal<typeof context, DeliveryContext>>();
    },
    delete_my_data_event: {
      DATA_REAPPEARED: (event) => event.site_id.toFixed(),
      POWER_OF_ATTORNEY_SIGNED: (event) => proves<Equal<typeof event.site_id, null>>(),
    },
  },
});
// @ts-expect-error -- no such handler
inboxConsume({ driver, store, handlers: { old_alarm: () => undefined } });
// A worker of any queue.
declare const transactions: TransactionalStore<Transaction>;
const worker: InboxConsumer = inboxConsume({ driver, store, handlers });
inboxConsume({
  driver,
  store: transactions,
  handlers: { new_alarm: (_, { tx }) => tx.query("INSERT") },
});
// @ts-expect-error -- without Worker the driver takes no jobs
inboxConsume({ driver: bullmqQueue({ queue }), store, handlers });
// @ts-expect-error -- without queue the driver writes no jobs
inbox({ driver: bullmqQueue({ Worker, workerOptions }) });
// @ts-expect-error -- the store is required
inboxConsume({ driver, handlers });
// @ts-expect-error -- without a transaction there is no tx
inboxConsume({ driver, store, handlers: { new_alarm: (_, context) => context.tx as never } });
// @ts-expect-error -- a message must be settled
void worker.run({ id: "1", data: {}, attempt: 1 });

// A write in the transaction of the store.
interface Transaction {
  query(text: string): Promise<unknown>;
}
const joined = inbox({
  driver: { put: (job, { tx }: DeliveryContext<Transaction>) => tx.query(job.id) },
});
proves<Equal<typeof joined, InboxHandlers<DeliveryContext<Transaction>>>>();
// @ts-expect-error -- without such a store there is no transaction
createWebhookReceiver({ secret: "s", handlers: joined });

// A worker's reports, and the dead deliveries of the real clients.
inboxConsume({
  driver,
  store,
  handlers,
  onJob: ({ outcome, error }) => {
    proves<
      Equal<
        typeof outcome,
        "handled" | "discarded" | "unhandled" | "retry_later" | "handler_failed" | "dead"
      >
    >();
    proves<Equal<typeof error, unknown>>();
  },
});
// @ts-expect-error -- a report has no body
proves<Equal<JobReport["body"], string>>();
const letters: Promise<DeadDelivery[]> = pgBossQueue({ boss }).list({ limit: 10 });
const replayed: Promise<Replayed> = bullmqQueue({ queue }).replay("all");
// @ts-expect-error -- a single id must be in an array
void bullmqQueue({ queue }).replay("3f2504e0");
// @ts-expect-error -- discard needs ids
void pgBossQueue({ boss }).discard("all");
