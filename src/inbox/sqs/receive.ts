import { InFlightCount } from "../../common/in-flight-count.js";
import { pause, within } from "../../common/timers.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import { CALL_TIMEOUT_MS, type SqsMessage } from "./client.js";
import { MAX_HOLD_MS, SqsHeld, type SqsQueues } from "./messages.js";

/** The most that SQS waits for a message, and returns at once. */
const WAIT_SECONDS = 20;
const MOST_MESSAGES = 10;
const POLL_RETRY_MS = 1_000;

/** Takes messages by long polling. SQS holds them for us for the lease at first. */
export function receiveMessages(
  queues: SqsQueues,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const { concurrency } = options;
  const holdSeconds = Math.ceil(Math.min(options.leaseMs, MAX_HOLD_MS) / 1000);
  const stopping = new AbortController();
  const running = new InFlightCount();
  const isStopped = () => stopping.signal.aborted;
  let freeSlot: (() => void) | undefined;

  const runMessage = async (message: SqsMessage): Promise<void> => {
    try {
      const { MessageId: id = "", ReceiptHandle: receiptHandle = "", Body: body = "" } = message;
      const { Attributes: system = {}, MessageAttributes: attributes } = message;
      const attribute = (name: string) => attributes?.[name]?.StringValue;
      const received = { id, receiptHandle, body, system, attribute };
      const held = new SqsHeld(queues, received, holdSeconds * 1000);
      if (await held.hideIfEarly()) return;
      await run({ ...held.message(), extend: (ms) => held.extend(ms) });
    } catch (error) {
      options.onError(error);
    } finally {
      running.leave();
      freeSlot?.();
    }
  };

  const poll = async (): Promise<void> => {
    const call = new AbortController();
    const abort = () => call.abort();
    stopping.signal.addEventListener("abort", abort);
    try {
      const input = {
        QueueUrl: queues.queueUrl,
        MaxNumberOfMessages: Math.min(MOST_MESSAGES, concurrency - running.count()),
        WaitTimeSeconds: WAIT_SECONDS,
        VisibilityTimeout: holdSeconds,
        AttributeNames: ["All" as const],
        MessageAttributeNames: ["All"],
      };
      const receiving = queues.client.receiveMessage(input, { abortSignal: call.signal });
      const { Messages = [] } = await within(CALL_TIMEOUT_MS, "SQS's ReceiveMessage", receiving);
      for (const message of Messages) {
        running.enter();
        void runMessage(message);
      }
    } catch (error) {
      if (isStopped()) return;
      options.onError(error);
      await pause(POLL_RETRY_MS, stopping.signal);
    } finally {
      abort();
      stopping.signal.removeEventListener("abort", abort);
    }
  };

  const pollAll = async (): Promise<void> => {
    while (!isStopped()) {
      if (running.count() < concurrency) await poll();
      else await new Promise<void>((resolve) => (freeSlot = resolve));
    }
  };
  const polling = pollAll();
  return {
    async stop({ timeoutMs = Infinity } = {}) {
      stopping.abort();
      freeSlot?.();
      await polling;
      await running.waitUntilIdle(timeoutMs);
    },
  };
}
