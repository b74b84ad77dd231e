import { GatewayWebhookError, invalidOption } from "../../common/errors.js";
import { LONGEST_MS, remainingMs, type LambdaContext } from "../../delivery/request.js";
import type { InboxConsumeOptions } from "../consume.js";
import { pushedWorker, type BatchTime } from "../pushed-batch.js";
import type { QueueMessage } from "../queue-driver.js";
import { SqsHeld, type SqsQueues } from "./messages.js";
import type { SqsQueue } from "./queue.js";

/** A message in the event of Lambda's event source. Only the members that are read. */
interface SqsEventRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Partial<Record<string, string>>>;
  readonly messageAttributes?:
    Readonly<Record<string, { readonly stringValue?: string | undefined }>> | undefined;
  readonly eventSourceARN: string;
}

/** The event with which Lambda hands over messages of SQS. */
export interface SqsEvent {
  readonly Records: readonly SqsEventRecord[];
}

/** The messages that Lambda must leave in the queue. It deletes the others. */
interface SqsBatchResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

/** Options of `sqsHandler`: those of `inboxConsume`, with a driver that `sqsQueue` has made. */
export interface SqsHandlerOptions<Tx = never> extends InboxConsumeOptions<Tx> {
  /** With `deadQueueUrl`. It does not poll here: Lambda does. */
  driver: SqsQueue;
}

/** The handler of a Lambda function behind an event source of SQS. Rejects with `no_sqs_event` for another event. */
export type SqsHandler = (event: SqsEvent, context?: LambdaContext) => Promise<SqsBatchResponse>;

/**
 * Runs the jobs that Lambda's event source hands over, each as `inboxConsume` does. The event source must have
 * `ReportBatchItemFailures` set: without it Lambda deletes every message of a batch, also those that failed.
 *
 * A message that is done is deleted by Lambda. One that must run again is hidden for its delay, then reported as
 * failed. At most `concurrency` messages of a batch run at once; of a FIFO queue, one of a group, and the rest of a
 * group waits for another batch when one fails. Shortly before the function's time-out `context.signal` aborts, no
 * further message is started, and those that have not ended are reported as failed: they come again when the queue's
 * visibility timeout is over, which AWS tells to set to six times the function's time-out.
 *
 * @throws ConfigurationError if an option is invalid.
 * @example
 * ```ts
 * const driver = sqsQueue({ client: new SQS({}), queueUrl, deadQueueUrl });
 * export const handler = sqsHandler({ driver, store, handlers });
 * ```
 */
export function sqsHandler<Tx = never>(options: SqsHandlerOptions<Tx>): SqsHandler {
  const { driver } = Object(options) as SqsHandlerOptions<Tx>;
  const { queues, name, maxRunMs } = Object(driver) as Partial<SqsQueue>;
  if (queues === undefined) {
    throw invalidOption("driver must be made by sqsQueue, with deadQueueUrl");
  }
  const runBatch = pushedWorker<Tx>(options, { name, extends: "never", maxRunMs });

  return async (event, context) => {
    const records = recordsOf(event);
    /** Those that Lambda must not delete: all that have not ended otherwise. */
    const failed = new Set(records.map(({ messageId }) => messageId));
    await runBatch(
      lanesOf(records),
      remainingMs(context) ?? LONGEST_MS,
      (record, time) => messageOf(record, queues, time, () => failed.delete(record.messageId)),
      ({ messageId }) => !failed.has(messageId),
    );
    return { batchItemFailures: Array.from(failed, (itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** The message of a record; undefined if it is not due yet. `onGone`: Lambda may delete it, or we have. */
async function messageOf(
  record: SqsEventRecord,
  queues: SqsQueues,
  time: BatchTime,
  onGone: () => void,
): Promise<QueueMessage | undefined> {
  const { messageId: id, receiptHandle, body, attributes: system } = record;
  const attribute = (name: string) => record.messageAttributes?.[name]?.stringValue;
  // Lambda refuses a visibility timeout that is shorter than the function's time-out.
  const held = new SqsHeld(queues, { id, receiptHandle, body, system, attribute }, Infinity);
  // Without the right to hide it, it is kept for the visibility timeout.
  if (await held.hideIfEarly().catch(() => true)) return undefined;
  const message = held.message(time.lost);
  return {
    ...message,
    async settle(settlement) {
      // The process was frozen meanwhile, and another worker may have the message.
      if (time.hasReturned) return false;
      const isKept = settlement.result === "retry" && settlement.error !== undefined;
      const isTaken = settlement.result === "done" || (await message.settle(settlement));
      if (isTaken && !isKept) onGone();
      return isTaken;
    },
  };
}

/** The messages that run one after the other: those of a group of a FIFO queue. */
function lanesOf(records: readonly SqsEventRecord[]): SqsEventRecord[][] {
  const lanes = new Map<string, SqsEventRecord[]>();
  for (const record of records) {
    const { messageId, eventSourceARN, attributes } = record;
    // A Standard queue may have groups too, for fairness alone.
    const group = eventSourceARN.endsWith(".fifo") ? attributes["MessageGroupId"] : undefined;
    const lane = lanes.get(group ?? messageId) ?? [];
    lane.push(record);
    lanes.set(group ?? messageId, lane);
  }
  return [...lanes.values()];
}

function recordsOf(event: unknown): readonly SqsEventRecord[] {
  const { Records: records } = Object(event) as { readonly Records?: unknown };
  const isMessage = (record: unknown) =>
    (Object(record) as { readonly eventSource?: unknown }).eventSource === "aws:sqs";
  if (Array.isArray(records) && records.every(isMessage)) return records as SqsEventRecord[];
  throw new GatewayWebhookError(
    "no_sqs_event",
    "the event is no batch of messages of SQS: check the triggers of this function",
  );
}
