import { InFlightCount } from "../../common/in-flight-count.js";
import { MAX_TIMER_MS, pause, within } from "../../common/timers.js";
import { jsonOf } from "../../common/json-text.js";
import { DEAD_RECORD_BYTES, deadRecordOf } from "../dead-record.js";
import { attemptOf, countOf, timeOf } from "../envelope.js";
import { jobNameOf } from "../inbox-job.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import { SETTLE_TIMEOUT_MS } from "../queue-options.js";
import { contentNameOf, contentOf, MAX_JOB_BYTES, type AmqpMessage } from "./client.js";
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
      const message = await messageOf(received, lost.signal, link, open);
      if (!isStopped()) await run(message);
      // Not given back as it is: RabbitMQ would count that like a crash.
      else {
        const settling = message.settle({ result: "retry", afterMs: 0, isLeased: true });
        await within(SETTLE_TIMEOUT_MS, "settle", settling);
      }
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

async function messageOf(
  received: AmqpMessage,
  lost: AbortSignal,
  link: RabbitLink,
  open: OpenLink,
): Promise<QueueMessage> {
  const { channel, closed } = open;
  const isClosed = () => closed.aborted;
  const { content, properties } = received;
  const data = jsonOf(content);
  const given: Partial<Record<keyof JobHeaders, unknown>> = properties.headers ?? {};
  const attempt = attemptOf(given.attempt);
  const enqueuedAt = timeOf(given.enqueuedAt);
  const crashes = countOf(given.crashes) + countOf(properties.headers?.["x-delivery-count"]);
  const headers = (next: number, kept = 0): JobHeaders => ({
    attempt: next,
    enqueuedAt: enqueuedAt ?? Date.now(),
    crashes: kept,
  });
  const message: QueueMessage = {
    id: jobNameOf(data).id ?? (await contentNameOf(content)),
    data,
    attempt,
    crashes,
    enqueuedAt: enqueuedAt === undefined ? undefined : new Date(enqueuedAt),
    lost,
    async settle(settlement) {
      if (isClosed()) return false;
      if (settlement.result === "retry") {
        const { afterMs, error, isLeased } = settlement;
        const kept = isLeased === true ? crashes : 0;
        const next = headers(error === undefined ? attempt : attempt + 1, kept);
        await link.publishLater(open, content, next, afterMs);
      } else if (settlement.result === "dead") {
        const mostBytes = MAX_JOB_BYTES + DEAD_RECORD_BYTES;
        const record = deadRecordOf(message, settlement.error, content, mostBytes);
        await link.publish(open, link.deadName, contentOf(record), headers(attempt));
      }
      if (isClosed()) return false;
      channel.ack(received);
      return true;
    },
  };
  return message;
}
