import { InFlightCount } from "../../common/in-flight-count.js";
import { MAX_TIMER_MS, pause, within } from "../../common/timers.js";
import { deadRecordOf, jsonOf } from "../dead-record.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import { MAX_CRASHES, SETTLE_TIMEOUT_MS } from "../queue-options.js";
import { contentOf, type AmqpMessage, type AmqpReplyAddress } from "./client.js";
import type { JobHeaders, OpenLink, RabbitLink } from "./link.js";

const RECONNECT_MS = 1_000;

/** Consumes on a connection of its own, since RabbitMQ may block one that publishes. */
export function receiveMessages(
  link: RabbitLink,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const stopping = new AbortController();
  const isStopped = () => stopping.signal.aborted;
  const running = new InFlightCount();

  const runMessage = async (received: AmqpMessage, open: OpenLink): Promise<void> => {
    const lost = new AbortController();
    open.held.add(lost);
    try {
      const message = messageOf(received, lost.signal, link, open);
      const crashes = Number(received.properties.headers?.["x-delivery-count"] ?? 0);
      if (crashes <= MAX_CRASHES) {
        await run(message);
        return;
      }
      const reason = "its workers crashed too often";
      // Reported before it is written: after a crash in between, the next worker reports it again.
      options.onBuried(message, reason);
      const settling = message.settle({ result: "dead", error: new Error(reason) });
      // It goes on as long as the queue refuses it, and must not hold up the end of the worker.
      await within(SETTLE_TIMEOUT_MS, "settle", settling);
    } catch (error) {
      options.onError(error);
    } finally {
      open.held.delete(lost);
    }
  };

  /** Resolves when the worker stops or the connection closes. */
  const consume = async (open: OpenLink): Promise<void> => {
    const { channel, closed } = open;
    await channel.prefetch(options.concurrency);
    const { consumerTag } = await channel.consume(link.name, (received) => {
      // Null: RabbitMQ has ended the consumer, as when its queue is deleted.
      if (received === null) void link.close();
      else if (isStopped()) channel.nack(received, false, true);
      else running.track(runMessage(received, open));
    });
    await pause(MAX_TIMER_MS, AbortSignal.any([closed, stopping.signal]));
    // Not awaited: a connection that died unnoticed does not answer. What still comes is given back.
    if (!closed.aborted) channel.cancel(consumerTag).then(undefined, () => undefined);
    else if (!isStopped()) throw closed.reason;
  };

  const work = async (): Promise<void> => {
    while (!isStopped()) {
      try {
        const open = await link.open();
        if (!isStopped()) await consume(open);
      } catch (error) {
        options.onError(error);
        await pause(RECONNECT_MS, stopping.signal);
      }
    }
  };

  const working = work();
  return {
    async stop({ timeoutMs = Infinity } = {}) {
      stopping.abort();
      await running.waitUntilIdle(timeoutMs);
      await link.close();
      await working;
    },
  };
}

function messageOf(
  received: AmqpMessage,
  lost: AbortSignal,
  link: RabbitLink,
  open: OpenLink,
): QueueMessage {
  const { channel, closed } = open;
  const isClosed = () => closed.aborted;
  const { content, properties, fields } = received;
  const { attempt = 1, enqueuedAt } = (properties.headers ?? {}) as Partial<JobHeaders>;
  const headers = (next: number): JobHeaders => ({
    attempt: next,
    enqueuedAt: enqueuedAt ?? Date.now(),
  });
  const reply = replyAddressOf(properties);
  const message: QueueMessage = {
    id:
      typeof properties.messageId === "string" ? properties.messageId : String(fields.deliveryTag),
    data: jsonOf(content),
    attempt,
    enqueuedAt: enqueuedAt === undefined ? undefined : new Date(enqueuedAt),
    lost,
    async settle(settlement) {
      if (isClosed()) return false;
      const isFailed = settlement.result !== "done" && settlement.error !== undefined;
      const isOpen = settlement.result === "retry" && !isFailed;
      if (settlement.result === "retry") {
        const next = headers(isFailed ? attempt + 1 : attempt);
        const { afterMs } = settlement;
        await link.publishLater(open, content, next, afterMs, isOpen ? reply : undefined);
      } else if (settlement.result === "dead") {
        const record = contentOf(deadRecordOf(message, settlement.error));
        await link.publish(open, link.deadName, record, headers(attempt));
      }
      if (isClosed()) return false;
      if (reply !== undefined && !isOpen) {
        const { replyTo, correlationId } = reply;
        // Without confirmation: the replay may have ended, and its queue with it.
        channel.publish("", replyTo, contentOf(isFailed), { correlationId }, () => undefined);
      }
      channel.ack(received);
      return true;
    },
  };
  return message;
}

/** Only a growing replay has one. */
function replyAddressOf({
  replyTo,
  correlationId,
}: AmqpMessage["properties"]): AmqpReplyAddress | undefined {
  if (typeof replyTo !== "string" || typeof correlationId !== "string") return undefined;
  return { replyTo, correlationId };
}
