import { backend } from "#crypto";
import { jsonOf } from "../../common/json-text.js";
import { attemptOf, countOf, delayOf, timeOf } from "../envelope.js";
import type { QueueMessage, QueueSettlement } from "../queue-driver.js";
import { bounded, type SqsAttribute, type SqsClient } from "./client.js";

/** The queue of a driver and its dead-letter queue. */
export interface SqsQueues {
  readonly client: SqsClient;
  readonly queueUrl: string;
  readonly deadQueueUrl: string;
  /** That of the redrive policy of the queue. Infinity without one. */
  readonly maxReceiveCount: number;
}

/** A message as the API or an event of Lambda shows it. */
export interface SqsReceived {
  readonly id: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** Of SQS: `ApproximateReceiveCount`, `SentTimestamp`, `MessageGroupId`. */
  readonly system: Readonly<Partial<Record<string, string>>>;
  /** The value of a message attribute. */
  attribute(name: string): string | undefined;
}

/** SQS holds a message for at most 12 hours after its receipt. */
export const MAX_HOLD_MS = 43_200_000;
/** SQS counts a lease from when it sends a message, and we from when we read it. We end ours this much earlier. */
const READ_WITHIN_MS = 500;
/** Longer reasons are cut: attributes count as a part of the message. */
const MAX_REASON_LENGTH = 500;
/** Noncharacters that SQS refuses. They can only stand inside of strings, where JSON may escape them. */
const REFUSED = /[\uFFFE\uFFFF]/g;
/** The receipt handle is too old, or the message is held for 12 hours already. */
const NOT_HELD = /(?:^|\.)(?:ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue)/;

/** Sends a text to a queue. Resolves when SQS has stored it. */
export async function send(
  client: SqsClient,
  queueUrl: string,
  body: string,
  group: string,
  attributes: Record<string, SqsAttribute> = {},
): Promise<void> {
  const message = { QueueUrl: queueUrl, MessageBody: body, MessageAttributes: attributes };
  // A group and a deduplication id of its own: no message waits for one of another delivery, and none is dropped
  // because SQS has seen its delivery within five minutes.
  const fifo = { MessageGroupId: group, MessageDeduplicationId: backend.randomUuid() };
  await client.sendMessage(
    queueUrl.endsWith(".fifo") ? { ...message, ...fifo } : message,
    bounded(),
  );
}

/** The text of a job. */
export function textOf(job: unknown): string {
  return JSON.stringify(job).replace(REFUSED, (one) => (one === "\uFFFE" ? "\\ufffe" : "\\uffff"));
}

/**
 * A received message. A run that did not fail must not count as an attempt, but SQS counts each receipt: then the job
 * is sent anew, with the count of its failed runs and its delay as attributes. It is hidden for that delay at its first
 * receipt, since a FIFO queue delays no single message.
 */
export class SqsHeld {
  readonly #queues: SqsQueues;
  readonly #received: SqsReceived;
  readonly #receivedAt = performance.now();
  readonly #receipts: number;
  readonly #delayMs: number;
  readonly #failedRuns: number;
  readonly #putAt: number;
  #heldUntil: number;

  /** `holdMs`: for how long SQS holds it now. */
  constructor(queues: SqsQueues, received: SqsReceived, holdMs: number) {
    const { system } = received;
    this.#queues = queues;
    this.#received = received;
    this.#heldUntil = this.#receivedAt + holdMs - READ_WITHIN_MS;
    this.#receipts = attemptOf(system["ApproximateReceiveCount"]);
    this.#delayMs = delayOf(received.attribute("DelayMs"));
    this.#failedRuns = countOf(received.attribute("FailedRuns")) - (this.#delayMs > 0 ? 1 : 0);
    this.#putAt =
      timeOf(received.attribute("PutAt")) ?? timeOf(system["SentTimestamp"]) ?? Date.now();
  }

  /** Hides a job that was sent anew until it is due. Resolves to false if it is due. */
  async hideIfEarly(): Promise<boolean> {
    if (this.#receipts > 1 || this.#delayMs === 0) return false;
    await this.#hide(this.#delayMs);
    return true;
  }

  message(lost?: AbortSignal): Omit<QueueMessage, "extend"> {
    const { id, body } = this.#received;
    const { maxReceiveCount } = this.#queues;
    return {
      id,
      data: jsonOf(body),
      attempt: this.#failedRuns + this.#receipts,
      maxAttempts: this.#failedRuns + maxReceiveCount,
      enqueuedAt: new Date(this.#putAt),
      lost,
      settle: (settlement) => this.#settle(settlement),
    };
  }

  /** Holds it for `ms` from now. False: it is lost. */
  async extend(ms: number): Promise<boolean> {
    return this.#isHeld() && (await this.#hide(ms));
  }

  async #settle(settlement: QueueSettlement): Promise<boolean> {
    // By our clock: SQS takes an old receipt handle without a word, although another worker has the message.
    const isHeld = this.#isHeld();
    switch (settlement.result) {
      case "done":
        await this.#delete();
        return isHeld;
      case "retry":
        if (!isHeld) return false;
        if (settlement.error !== undefined) return this.#hide(settlement.afterMs);
        await this.#send(this.#queues.queueUrl, {
          FailedRuns: number(this.#failedRuns + this.#receipts - 1),
          DelayMs: number(settlement.afterMs),
          PutAt: number(this.#putAt),
        });
        return this.#delete();
      case "dead":
        if (!isHeld) return false;
        // Sent before it is deleted: a crash in between makes two of it, and none is lost.
        await this.#send(this.#queues.deadQueueUrl, {
          Attempts: number(this.#failedRuns + this.#receipts),
          Error: {
            DataType: "String",
            StringValue: settlement.error.message.slice(0, MAX_REASON_LENGTH),
          },
        });
        return this.#delete();
    }
  }

  #isHeld(): boolean {
    return performance.now() < this.#heldUntil;
  }

  async #hide(ms: number): Promise<boolean> {
    const now = performance.now();
    const leftMs = MAX_HOLD_MS - (now - this.#receivedAt);
    const seconds = Math.min(Math.ceil(ms / 1000), Math.floor(leftMs / 1000));
    if (seconds <= 0) return false;
    const { client, queueUrl } = this.#queues;
    const message = { QueueUrl: queueUrl, ReceiptHandle: this.#received.receiptHandle };
    try {
      await client.changeMessageVisibility({ ...message, VisibilityTimeout: seconds }, bounded());
    } catch (error) {
      if (NOT_HELD.test(String((Object(error) as { name?: unknown }).name))) return false;
      throw error;
    }
    this.#heldUntil = now + seconds * 1000;
    return true;
  }

  #send(queueUrl: string, attributes: Record<string, SqsAttribute>): Promise<void> {
    const { id, body, system } = this.#received;
    const group = system["MessageGroupId"] ?? id;
    return send(this.#queues.client, queueUrl, body, group, attributes);
  }

  async #delete(): Promise<true> {
    const { client, queueUrl } = this.#queues;
    const { receiptHandle } = this.#received;
    await client.deleteMessage({ QueueUrl: queueUrl, ReceiptHandle: receiptHandle }, bounded());
    return true;
  }
}

function number(value: number): SqsAttribute {
  return { DataType: "Number", StringValue: String(value) };
}
