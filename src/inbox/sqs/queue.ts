import { checkAwsClient } from "../../common/aws-clients.js";
import { invalidOption } from "../../common/errors.js";
import { integerOptions, ownOptions } from "../../common/option-checks.js";
import type {
  QueueDriver,
  QueueProducer,
  QueueMessage,
  ReceiveOptions,
  Receiving,
} from "../queue-driver.js";
import {
  bounded,
  METHODS,
  queueNameOf,
  type SqsClient,
  CALL_TIMEOUT_MS,
  type SqsMessage,
} from "./client.js";
import { MAX_HOLD_MS, send, textOf, type SqsQueues, SqsHeld } from "./messages.js";
import { within } from "../../common/timers.js";
import { pollMessages } from "../polling.js";

/** The half of the options of `sqsQueue` with which `inbox` writes jobs. */
interface SqsProducerOptions {
  /** An `SQS` of `@aws-sdk/client-sqs` 3: `new SQS(config)`. */
  client: SqsClient;
  /** The URL of the queue, Standard or FIFO. */
  queueUrl: string;
  /**
   * The `MaximumMessageSize` of the queue and of its dead-letter queue, in bytes, of which 1 024 are left for
   * attributes. From 2 048 to 1 048 576, default 262 144: queues may have 1 048 576 since August 2025, and those
   * that were made before keep what they have.
   */
  maxMessageBytes?: number | undefined;
}

/** All options of `sqsQueue`. */
export interface SqsQueueOptions extends SqsProducerOptions {
  /** The URL of the queue that gets the dead jobs. Required to run jobs. */
  deadQueueUrl: string;
  /**
   * `maxReceiveCount` of the queue's redrive policy, if it has one: after so many receipts SQS itself moves a job to
   * the dead-letter queue, and no one is told. With it the worker makes the last attempt before that, and reports it.
   * From 2 to 1 000. Default: no policy.
   */
  maxReceiveCount?: number | undefined;
}

/** A driver of SQS that also runs jobs. */
export interface SqsQueue extends QueueDriver<unknown> {
  /** What `sqsHandler` needs to settle the messages of Lambda's event source. */
  readonly queues: SqsQueues;
}

/** Room for the attributes of a job that is sent anew or is dead. */
const ATTRIBUTE_BYTES = 1_024;
/** So that the last extension does not meet the limit of 12 hours. */
const MAX_RUN_MS = MAX_HOLD_MS - 60_000;
const INTEGER_OPTIONS = {
  maxMessageBytes: { fallback: 262_144, min: 2_048, max: 1_048_576 },
  // SQS has no such number: without a policy it never gives up a job.
  maxReceiveCount: { fallback: Infinity, min: 2, max: 1_000 },
};
const OPTION_NAMES = [...Object.keys(INTEGER_OPTIONS), "client", "queueUrl", "deadQueueUrl"];

/**
 * The queue driver for Amazon SQS, with Standard and FIFO queues. With `deadQueueUrl` it is a driver for `inbox`, for
 * `inboxConsume` in a process, which polls the queue, and for `sqsHandler` in a Lambda function. Without, it only
 * writes jobs.
 *
 * `put` resolves when SQS has stored the job. A finished job is deleted with its body. A dead job is sent to the
 * dead-letter queue, with its reason in the message attribute `Error`, then deleted. SQS forgets every job after the
 * queue's retention period (4 days by default): set it to 14 days on both. SQS lists no jobs: replay dead ones by its own
 * redrive (`StartMessageMoveTask`), and they have all attempts again. The longest wait for another run is 12 hours.
 *
 * It needs the rights `sqs:SendMessage` on both queues, and to run jobs `sqs:ReceiveMessage`, `sqs:DeleteMessage`,
 * `sqs:ChangeMessageVisibility` and `sqs:GetQueueAttributes`. The job of a crashed worker runs again after the `leaseMs`
 * of the worker.
 *
 * @example
 * ```ts
 * const driver = sqsQueue({ client: new SQS({}), queueUrl, deadQueueUrl });
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   maxBodyBytes: 150_000,
 *   handlers: inbox({ driver }),
 * });
 * const worker = inboxConsume({
 *   driver,
 *   store,
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 * });
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function sqsQueue(options: SqsQueueOptions): SqsQueue;
/** Without `deadQueueUrl`: a driver that only writes jobs. */
export function sqsQueue(options: SqsProducerOptions): QueueProducer<unknown>;
export function sqsQueue(
  options: SqsProducerOptions & Partial<SqsQueueOptions>,
): QueueProducer<unknown> {
  const own = ownOptions("sqsQueue", options, OPTION_NAMES);
  const { client, queueUrl, deadQueueUrl } = own;
  checkAwsClient(client, "SQS", METHODS);
  const name = queueNameOf("queueUrl", queueUrl);
  const { maxMessageBytes, maxReceiveCount } = integerOptions(own, INTEGER_OPTIONS);
  const countOf = async (url: string): Promise<number> => {
    const input = { QueueUrl: url, AttributeNames: ["ApproximateNumberOfMessages" as const] };
    const { Attributes } = await client.getQueueAttributes(input, bounded());
    return Number(Attributes?.["ApproximateNumberOfMessages"]);
  };
  const producer: QueueProducer<unknown> = {
    name,
    maxJobBytes: maxMessageBytes - ATTRIBUTE_BYTES,
    put: (job) => send(client, queueUrl, textOf(job), job.id),
    async waiting() {
      const urls = deadQueueUrl === undefined ? [queueUrl] : [queueUrl, deadQueueUrl];
      const [count, dead] = await Promise.all(urls.map(countOf));
      return { count, dead };
    },
  };
  if (deadQueueUrl === undefined) return producer;
  queueNameOf("deadQueueUrl", deadQueueUrl);
  if (deadQueueUrl === queueUrl) {
    throw invalidOption("deadQueueUrl must be another queue than queueUrl");
  }
  const queues: SqsQueues = { client, queueUrl, deadQueueUrl, maxReceiveCount };
  const driver: SqsQueue = {
    ...producer,
    name,
    queues,
    extends: "message",
    maxRunMs: MAX_RUN_MS,
    receive: (run, receiving) => receiveMessages(queues, run, receiving),
  };
  return driver;
}

/** The most that SQS waits for a message, and returns at once. */
const WAIT_SECONDS = 20;
const MOST_MESSAGES = 10;

/** Takes messages by long polling. SQS holds them for us for the lease at first. */
function receiveMessages(
  queues: SqsQueues,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const holdSeconds = Math.ceil(Math.min(options.leaseMs, MAX_HOLD_MS) / 1000);

  const runMessage = async (message: SqsMessage): Promise<void> => {
    const { MessageId: id = "", ReceiptHandle: receiptHandle = "", Body: body = "" } = message;
    const { Attributes: system = {}, MessageAttributes: attributes } = message;
    const attribute = (name: string) => attributes?.[name]?.StringValue;
    const received = { id, receiptHandle, body, system, attribute };
    const held = new SqsHeld(queues, received, holdSeconds * 1000);
    if (await held.hideIfEarly()) return;
    await run({ ...held.message(), extend: (ms) => held.extend(ms) });
  };
  const take = async (most: number, signal: AbortSignal): Promise<readonly SqsMessage[]> => {
    const input = {
      QueueUrl: queues.queueUrl,
      MaxNumberOfMessages: Math.min(MOST_MESSAGES, most),
      WaitTimeSeconds: WAIT_SECONDS,
      VisibilityTimeout: holdSeconds,
      AttributeNames: ["All" as const],
      MessageAttributeNames: ["All"],
    };
    const call = new AbortController();
    const abort = () => call.abort();
    signal.addEventListener("abort", abort);
    try {
      const receiving = queues.client.receiveMessage(input, { abortSignal: call.signal });
      const { Messages = [] } = await within(CALL_TIMEOUT_MS, "SQS's ReceiveMessage", receiving);
      return Messages;
    } finally {
      abort();
    }
  };
  return pollMessages({ take, run: runMessage, idleMs: 0 }, options);
}
