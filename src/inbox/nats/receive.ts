import { InFlightCount } from "../../common/in-flight-count.js";
import { pause } from "../../common/timers.js";
import { deadRecordOf, jsonOf } from "../dead-record.js";
import { jobNameOf } from "../inbox-job.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import { MAX_CRASHES } from "../queue-options.js";
import type { NatsConnection, NatsConsumer, NatsMessage, NatsPull } from "./client.js";
import { copyIdOf, placeOf, tokenOf } from "./dead-letters.js";
import { CONSUMER, type NatsStreams } from "./streams.js";

/** How long the server may take to answer that there is no message. */
const PULL_MS = 30_000;
const RETRY_MS = 1_000;
const NANOS_PER_MS = 1_000_000;

/** Takes messages one by one, in as many loops as messages may run at once. */
export function receiveMessages(
  streams: NatsStreams,
  connection: NatsConnection,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const { concurrency, leaseMs } = options;
  /** The pulls that wait for a message. */
  const pulls = new Set<NatsPull>();
  const stopping = new AbortController();
  const isStopped = () => stopping.signal.aborted;
  let opening: Promise<NatsConsumer> | undefined;

  const runMessage = async (received: NatsMessage): Promise<void> => {
    const { delayMs } = placeOf(received.subject);
    const { deliveryCount } = received.info;
    if (delayMs > 0 && deliveryCount === 1) {
      received.nak(delayMs);
      return;
    }
    const message = messageOf(received, { streams, connection, leaseMs });
    if (deliveryCount - (delayMs > 0 ? 2 : 1) <= MAX_CRASHES) {
      await run(message);
      return;
    }
    const reason = "its workers crashed too often";
    // Reported before it is written: after a crash in between, the next worker reports it again.
    options.onBuried(message, reason);
    await message.settle({ result: "dead", error: new Error(reason) });
  };

  /** The next message; undefined if there is none for a while, or the worker stops. */
  const nextOf = async (consumer: NatsConsumer): Promise<NatsMessage | undefined> => {
    const pull = await consumer.fetch({ max_messages: 1, expires: PULL_MS });
    pulls.add(pull);
    try {
      // Not awaited: it ends when the loop below has.
      if (isStopped()) void pull.close();
      for await (const message of pull) return message;
      return undefined;
    } finally {
      pulls.delete(pull);
    }
  };

  const takeMessages = async (): Promise<void> => {
    while (!isStopped()) {
      try {
        opening ??= openConsumer(streams, leaseMs);
        const received = await nextOf(await opening);
        if (received === undefined) continue;
        if (isStopped()) received.nak();
        else await runMessage(received);
      } catch (error) {
        options.onError(error);
        opening = undefined;
        streams.reset();
        await pause(RETRY_MS);
      }
    }
  };

  const loops = new InFlightCount();
  for (let slot = 0; slot < concurrency; slot += 1) loops.track(takeMessages());
  return {
    async stop({ timeoutMs = Infinity } = {}) {
      stopping.abort();
      for (const pull of pulls) void pull.close();
      await loops.waitUntilIdle(timeoutMs);
    },
  };
}

/** Makes the consumer, or gives it the lease of this worker. */
async function openConsumer(streams: NatsStreams, leaseMs: number): Promise<NatsConsumer> {
  const { consumers } = await streams.open();
  const { name, jetstream } = streams;
  const config = {
    durable_name: CONSUMER,
    ack_policy: "explicit",
    ack_wait: leaseMs * NANOS_PER_MS,
    max_deliver: -1,
    // Messages that wait for their next run count as pending.
    max_ack_pending: -1,
    max_waiting: 100_000,
  };
  try {
    await consumers.add(name, config);
  } catch {
    await consumers.update(name, CONSUMER, { ack_wait: config.ack_wait });
  }
  return jetstream.consumers.get(name, CONSUMER);
}

function messageOf(
  received: NatsMessage,
  given: {
    readonly streams: NatsStreams;
    readonly connection: NatsConnection;
    readonly leaseMs: number;
  },
): QueueMessage {
  const { streams, connection, leaseMs } = given;
  const { name, deadName, jetstream } = streams;
  const data = jsonOf(received.data);
  const id = String(received.seq);
  const place = placeOf(received.subject);
  const { attempt } = place;
  const token = place.token ?? tokenOf(jobNameOf(data).id ?? id);
  // The server takes any worker's acknowledgement of a message, so each must know when it has lost it. The server began
  // to count before the message was here, and does not say when: a busy process leaves a quarter for the way.
  let heldUntil = performance.now() + 0.75 * leaseMs;
  const isLost = () => performance.now() >= heldUntil;
  const message: QueueMessage = {
    id,
    data,
    attempt,
    enqueuedAt: received.time,
    async extend() {
      if (isLost()) return false;
      const until = performance.now() + leaseMs;
      received.working();
      await connection.flush();
      heldUntil = until;
      return true;
    },
    async settle(settlement) {
      if (settlement.result !== "done") {
        if (isLost()) return false;
        const isRetry = settlement.result === "retry";
        const msgID = copyIdOf(isRetry ? "again" : "dead", received);
        if (isRetry) {
          const next = attempt + (settlement.error === undefined ? 0 : 1);
          const delayMs = String(Math.ceil(settlement.afterMs));
          const subject = `${name}.${token}.again.${String(next)}.${delayMs}`;
          await jetstream.publish(subject, JSON.stringify(data), { msgID });
        } else {
          const record = deadRecordOf(message, settlement.error);
          await jetstream.publish(`${deadName}.${token}`, JSON.stringify(record), { msgID });
        }
      }
      return received.ackAck();
    },
  };
  return message;
}
