import { startBackgroundTimer } from "../../common/timers.js";
import { jsonOf } from "../../common/json-text.js";
import { deadRecordOf } from "../dead-record.js";
import { jobNameOf } from "../inbox-job.js";
import { pollMessages } from "../polling.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import {
  maxMessageBytesOf,
  type NatsConnection,
  type NatsConsumer,
  type NatsMessage,
  type NatsPull,
} from "./client.js";
import { copyIdOf, placeOf, tokenOf } from "./dead-letters.js";
import { CONSUMER, type NatsStreams } from "./streams.js";

/** How long a pull waits for a message. A stop waits as long. */
const PULL_MS = 2_000;
/** After this time from a stop, no pull is open at the server. */
const LAST_PULL_MS = 2 * PULL_MS;
const NANOS_PER_MS = 1_000_000;

/** Pulls as many messages as may run, and runs each as it comes. */
export function receiveMessages(
  streams: NatsStreams,
  connection: NatsConnection,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const { leaseMs } = options;
  let isStopped = false;
  /** The last one: it may wait for messages. */
  let pull: NatsPull | undefined;
  let opening: Promise<NatsConsumer> | undefined;

  const runMessage = async (received: NatsMessage): Promise<void> => {
    const { delayMs } = placeOf(received.subject);
    if (delayMs > 0 && received.info.deliveryCount === 1) {
      received.nak(delayMs);
      return;
    }
    const message = messageOf(received, { streams, connection, leaseMs });
    if (!isStopped) await run(message);
    // Not given back as it is: the server would count that like a crash.
    else await message.settle({ result: "retry", afterMs: 0, isLeased: true });
  };

  async function* take(most: number, signal: AbortSignal): AsyncGenerator<NatsMessage> {
    try {
      opening ??= openConsumer(streams, leaseMs);
      const consumer = await opening;
      if (signal.aborted) return;
      pull = await consumer.fetch({ max_messages: most, expires: PULL_MS });
      yield* pull;
    } catch (error) {
      opening = undefined;
      streams.reset();
      throw error;
    }
  }

  const receiving = pollMessages({ take, run: runMessage, idleMs: 0 }, options);
  return {
    async stop(given) {
      isStopped = true;
      // A message on its way to a pull that is closed would count like a crash. So the server ends the pull, unless it
      // is away.
      startBackgroundTimer(LAST_PULL_MS, () => void pull?.close());
      await receiving.stop(given);
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
  const place = placeOf(received.subject);
  const { strange = `#${String(received.seq)}`, attempt, delayMs: waitedMs } = place;
  // The first receipt of a copy with a delay gives it back.
  const crashes = place.crashes + received.info.deliveryCount - (waitedMs > 0 ? 2 : 1);
  // Of the job and not of the subject: no one else's junk may replace the dead job of a delivery.
  const { id = strange } = jobNameOf(data);
  const token = tokenOf(id);
  // The server takes any worker's acknowledgement of a message, so each must know when it has lost it. The server began
  // to count before the message was here, and does not say when: a busy process leaves a quarter for the way.
  let heldUntil = performance.now() + 0.75 * leaseMs;
  const isLost = () => performance.now() >= heldUntil;
  const message: QueueMessage = {
    id,
    data,
    attempt,
    crashes,
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
          const kept = String(settlement.isLeased === true ? crashes : 0);
          const subject = `${name}.${token}.again.${String(next)}.${delayMs}.${kept}`;
          await jetstream.publish(subject, received.data, { msgID });
        } else {
          const mostBytes = maxMessageBytesOf(connection);
          const record = deadRecordOf(message, settlement.error, received.data, mostBytes);
          await jetstream.publish(`${deadName}.${token}`, record, { msgID });
        }
      }
      return received.ackAck();
    },
  };
  return message;
}
