import { invalidOption } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import { deadDeliveriesOf, type DeadDeliveries } from "../dead-deliveries.js";
import type { QueueDriver } from "../queue-driver.js";
import { queueNameOption } from "../queue-options.js";
import { MAX_JOB_BYTES, type AmqpConnection } from "./client.js";
import { deadLettersOf } from "./dead-letters.js";
import { RabbitLink } from "./link.js";
import { receiveMessages } from "./receive.js";

export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";

/** Options of `rabbitmqQueue`. `connect` is required. */
export interface RabbitmqQueueOptions {
  /**
   * Connects by amqplib: `() => amqplib.connect(url)`. It is called when a connection is first needed and after it
   * was lost: one for `put`, one for each worker, and one for each call about the dead jobs.
   */
  connect: () => PromiseLike<AmqpConnection>;
  /**
   * The name of the queue. The other queues have it in front: `<queueName>.dead`, and `<queueName>.retry.<ms>` for
   * each delay. Those that do not exist are made. Default `"gateway-deliveries"`.
   */
  queueName?: string | undefined;
}

/** A driver that owns its connections. */
export interface RabbitmqQueue extends QueueDriver<unknown>, DeadDeliveries {
  /** Closes the connection of `put`. Never rejects. Stop the workers before it. */
  close(): Promise<void>;
}

/** RabbitMQ closes the channel of a message that is not acknowledged for 30 minutes, by default. */
const MAX_RUN_MS = 29 * 60_000;

/**
 * The queue driver for RabbitMQ, from 3.10 on, by amqplib. All queues are quorum queues.
 *
 * `put` resolves when the queue has the job on the disks of a majority of its servers. A job stays with its worker
 * as long as their connection lives; when it closes, the job runs again. A run takes at most 29 minutes. A retry waits
 * in a queue for its delay, and comes up to a quarter later. A job whose worker has crashed 15 times is dead.
 *
 * @example
 * ```ts
 * const driver = rabbitmqQueue({ connect: () => amqplib.connect(url) });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: inbox({ driver }),
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function rabbitmqQueue(options: RabbitmqQueueOptions): RabbitmqQueue {
  const own = ownOptions("rabbitmqQueue", options, ["connect", "queueName"]);
  const { connect } = own;
  if (typeof connect !== "function") {
    throw invalidOption("connect must be a function: () => amqplib.connect(url)");
  }
  const name = queueNameOption(own.queueName);
  const newLink = () => new RabbitLink(connect, name);
  const link = newLink();
  return {
    name,
    maxJobBytes: MAX_JOB_BYTES,
    extends: "connection",
    maxRunMs: MAX_RUN_MS,
    put: (job) => link.put(job),
    async waiting() {
      const { channel } = await link.open();
      const { messageCount: dead } = await channel.checkQueue(link.deadName);
      return { count: (await channel.checkQueue(name)).messageCount, dead };
    },
    receive: (run, given) => receiveMessages(newLink(), run, given),
    ...deadDeliveriesOf("RabbitMQ", deadLettersOf(newLink)),
    close: () => link.close(),
  };
}
