import type { QueueState } from "../../telemetry/telemetry.js";
import { invalidOption } from "../../common/errors.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { deadDeliveriesOf, type DeadDeliveries } from "../dead-deliveries.js";
import { DEAD_RECORD_BYTES } from "../dead-record.js";
import type { QueueDriver } from "../queue-driver.js";
import { queueNameOption } from "../queue-options.js";
import {
  checkClients,
  maxMessageBytesOf,
  type NatsConnection,
  type NatsJetStream,
} from "./client.js";
import { deadLettersOf, tokenOf } from "./dead-letters.js";
import { receiveMessages } from "./receive.js";
import { CONSUMER, NatsStreams } from "./streams.js";

export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";

/** Options of `natsQueue`. `connection` and `jetstream` are required. */
export interface NatsQueueOptions {
  /** A connection of `@nats-io/transport-node` 3. */
  connection: NatsConnection;
  /** `jetstream(connection)` of `@nats-io/jetstream` 3. */
  jetstream: NatsJetStream;
  /**
   * The name of the stream of jobs, without dots. That of the dead jobs is `<queueName>-dead`. A stream that does
   * not exist is made. Default `"gateway-deliveries"`.
   */
  queueName?: string | undefined;
  /**
   * On how many servers of a cluster a new stream is kept. From 1 to 5, default 1. An existing stream keeps its
   * own number.
   */
  replicas?: number | undefined;
}

const OPTION_NAMES = ["connection", "jetstream", "queueName", "replicas"];

/**
 * The queue driver for NATS JetStream, from server 2.9 on.
 *
 * `put` resolves when JetStream has stored the job. NATS writes to the disk every two minutes: with one server
 * and without `sync_interval: always`, a power failure loses acknowledged deliveries. With `replicas: 3` it takes
 * a failure of two servers. A job is held for `leaseMs` of `inboxConsume`, which must be the same for all workers;
 * the job of a crashed worker runs again after it. A job whose worker has crashed 15 times is dead.
 *
 * @example
 * ```ts
 * const connection = await connect({ servers, maxReconnectAttempts: -1 });
 * const driver = natsQueue({ connection, jetstream: jetstream(connection) });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   maxBodyBytes: 780_000, // its job must fit into a message of 1 MiB, the server's default
 *   handlers: inbox({ driver }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and for a client that cannot work.
 */
export function natsQueue(options: NatsQueueOptions): QueueDriver<unknown> & DeadDeliveries {
  const own = ownOptions("natsQueue", options, OPTION_NAMES);
  const { connection, jetstream } = own;
  checkClients(connection, jetstream);
  const name = queueNameOption(own.queueName);
  if (name.includes(".")) throw invalidOption("queueName must have no dot: it names a stream");
  const replicas = integerOption("replicas", own.replicas, { fallback: 1, min: 1, max: 5 });
  const streams = new NatsStreams(jetstream, name, replicas);
  const dead = deadDeliveriesOf("NATS", deadLettersOf(streams));
  return {
    name,
    maxJobBytes: maxMessageBytesOf(connection) - DEAD_RECORD_BYTES,
    extends: "message",
    async put(job) {
      await streams.open();
      // The id of the message: within two minutes NATS drops a second job of the same delivery.
      const subject = `${name}.${tokenOf(job.id)}.job`;
      const { duplicate } = await jetstream.publish(subject, JSON.stringify(job), {
        msgID: job.id,
      });
      // The first job waits, runs, is handled or dead. A 200 for a dead one would lose the delivery.
      if (duplicate) await dead.replay([job.id]);
    },
    waiting: () => stateOf(streams),
    receive: (run, receiveOptions) => receiveMessages(streams, connection, run, receiveOptions),
    ...dead,
  };
}

async function stateOf(streams: NatsStreams): Promise<QueueState> {
  const { name, deadName } = streams;
  const manager = await streams.open();
  const { messages: dead } = (await manager.streams.info(deadName)).state;
  const { messages, consumer_count: consumers } = (await manager.streams.info(name)).state;
  const { num_pending: count, delivered } =
    consumers > 0
      ? await manager.consumers.info(name, CONSUMER)
      : { num_pending: messages, delivered: { stream_seq: 0 } };
  if (count === 0) return { count, oldestMs: 0, dead };
  const query = { seq: delivered.stream_seq + 1, next_by_subj: `${name}.>` };
  const oldest = await manager.streams.getMessage(name, query);
  return { count, oldestMs: Math.max(0, Date.now() - (oldest?.time.getTime() ?? Infinity)), dead };
}
