import { backend } from "#crypto";
import { pause, within } from "../../common/timers.js";
import { QueueError, queueErrorOf } from "../queue-error.js";
import { contentOf, type AmqpChannel, type AmqpConnection, type AmqpMessage } from "./client.js";

/** What a job of ours has beside its content. */
export interface JobHeaders {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** When it was first put: Unix milliseconds. */
  readonly enqueuedAt: number;
  /** How often its workers crashed before this message was made. */
  readonly crashes: number;
}

const CONNECT_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 5_000;
/** RabbitMQ refuses messages for a moment after two clients have declared a quorum queue at once. */
const REFUSED_MS = 200;
const MOST_REFUSALS = 5;
/**
 * RabbitMQ 4 drops a message after 20 receipts by default. The driver buries a job after fewer crashes, and reads
 * dead jobs as often as someone looks.
 */
const DELIVERY_LIMIT = 1_000_000_000;

/** An open connection with a confirm channel. When either closes, both do. */
export interface OpenLink {
  readonly connection: AmqpConnection;
  readonly channel: AmqpChannel;
  /** Aborts when they are closed, with the reason. */
  readonly closed: AbortSignal;
  /** Ids of messages that no queue took. */
  readonly returned: Set<unknown>;
  readonly delays: Set<string>;
  /** What to abort when they are closed, one for each message that runs. */
  readonly held: Set<AbortController>;
}

/** Connects when it is needed, and again after a close. Declares the queues. */
export class RabbitLink {
  readonly name: string;
  readonly deadName: string;
  readonly #connect: () => PromiseLike<AmqpConnection>;
  #opening: Promise<OpenLink> | undefined;
  #generation = 0;

  constructor(connect: () => PromiseLike<AmqpConnection>, name: string) {
    this.#connect = connect;
    this.name = name;
    this.deadName = `${name}.dead`;
  }

  open(): Promise<OpenLink> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const link = await opening?.catch(() => undefined);
    if (link === undefined || link.closed.aborted) return;
    const { channel, connection } = link;
    const close = async (): Promise<void> => {
      // The connection alone may close before the last acknowledgements of its channel are sent.
      await channel.close();
      await connection.close();
    };
    // A connection that died unnoticed does not answer.
    await within(CLOSE_TIMEOUT_MS, "close", close()).catch(() => undefined);
  }

  /** Publishes a job for its first attempt. */
  async put(job: unknown): Promise<void> {
    const headers = { attempt: 1, enqueuedAt: Date.now(), crashes: 0 };
    const open = await this.open();
    await this.#publish(open, MOST_REFUSALS, this.name, contentOf(job), headers);
  }

  /**
   * Publishes the result of a message, as often as its queue refuses it. RabbitMQ would not give a message back whose
   * result it has not got, as long as the connection lives.
   */
  async publish(open: OpenLink, ...message: Message): Promise<void> {
    await this.#publish(open, Infinity, ...message);
  }

  /** As `publish`, into a queue from which the message comes back after the delay or up to a quarter later. */
  async publishLater(open: OpenLink, content: Uint8Array, headers: JobHeaders, afterMs: number) {
    const { channel, delays } = open;
    const delayMs = delayOfQueue(afterMs);
    const queue = `${this.name}.retry.${String(delayMs)}`;
    if (!delays.has(queue)) {
      await declare(channel, queue, { "x-message-ttl": delayMs, ...deadLettersTo(this.name) });
      delays.add(queue);
    }
    await this.publish(open, queue, content, headers);
  }

  /** Resolves when the queue has the message on a majority of its servers. If it refuses the message, tries again. */
  async #publish(open: OpenLink, mostRefusals: number, ...message: Message): Promise<void> {
    for (let refusals = 1; ; refusals += 1) {
      const error = await refusalOf(open, ...message);
      if (error === undefined) return;
      // The next use connects anew and declares the queue.
      if (error instanceof QueueError) {
        open.connection.close().then(undefined, () => undefined);
      } else if (!open.closed.aborted && refusals < mostRefusals) {
        await pause(refusals < MOST_REFUSALS ? REFUSED_MS : SECOND_MS, open.closed);
        continue;
      }
      throw queueErrorOf("RabbitMQ did not take the message", error);
    }
  }

  async #open(): Promise<OpenLink> {
    this.#generation += 1;
    const generation = this.#generation;
    const closed = new AbortController();
    const returned = new Set<unknown>();
    const held = new Set<AbortController>();
    let reason: unknown = new QueueError("the connection to RabbitMQ is closed");
    let connection: AmqpConnection | undefined;
    const close = (one: AmqpConnection): void => {
      // One that came too late has no other listener, and without one its error would end the process.
      one.on("error", () => undefined);
      one.close().then(undefined, () => undefined);
    };
    const onError = (error: unknown): void => {
      reason = error;
    };
    const onClose = (): void => {
      if (generation === this.#generation) this.#opening = undefined;
      closed.abort(reason);
      for (const controller of held) controller.abort();
      if (connection !== undefined) close(connection);
    };
    try {
      const connecting = (async () => this.#connect())();
      connection = await within(CONNECT_TIMEOUT_MS, "connect", connecting, close);
      connection.on("error", onError);
      connection.on("close", onClose);
      const channel = await connection.createConfirmChannel();
      channel.on("error", onError);
      channel.on("close", onClose);
      channel.on("return", ({ properties }: AmqpMessage) => returned.add(properties.messageId));
      const limit = { "x-delivery-limit": DELIVERY_LIMIT };
      await declare(channel, this.deadName, limit);
      await declare(channel, this.name, { ...limit, ...deadLettersTo(this.deadName) });
      return { connection, channel, closed: closed.signal, returned, delays: new Set(), held };
    } catch (error) {
      onError(error);
      onClose();
      throw error;
    }
  }
}

type Message = readonly [queue: string, content: Uint8Array, headers: JobHeaders];

/** Publishes a message once. Resolves to the error if the queue or a closed channel has not taken it. */
async function refusalOf({ channel, returned }: OpenLink, ...[queue, content, headers]: Message) {
  const messageId = backend.randomUuid();
  const options = { persistent: true, mandatory: true, messageId, headers } as const;
  return new Promise((resolve) => {
    channel.publish("", queue, content, options, (error) => {
      // The return comes before the confirmation.
      const isUnknown = returned.delete(messageId);
      resolve(isUnknown ? new QueueError("RabbitMQ has no such queue") : (error ?? undefined));
    });
  });
}

const SECOND_MS = 1_000;
/** A quorum queue that never drops a message: it moves it on only when the next queue has it. */
const QUORUM = { "x-queue-type": "quorum", "x-overflow": "reject-publish" };

function deadLettersTo(queue: string): object {
  return {
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": queue,
    "x-dead-letter-strategy": "at-least-once",
  };
}

async function declare(channel: AmqpChannel, queue: string, own: object): Promise<void> {
  try {
    await channel.assertQueue(queue, { durable: true, arguments: { ...QUORUM, ...own } });
  } catch (error) {
    // PRECONDITION_FAILED, the usual cause, says so by its code alone.
    const { code } = Object(error) as { readonly code?: unknown };
    if (code !== 406) throw error;
    throw new QueueError(
      `the queue ${queue} exists with other arguments: delete it or use another`,
    );
  }
}

/** Four delays for each doubling, so that there are few queues: 1 s, 1.25 s, … 8 s, 10 s, 12 s, 14 s, 16 s, 20 s. */
function delayOfQueue(ms: number): number {
  const atLeast = Math.max(ms, SECOND_MS);
  const step = (SECOND_MS / 4) * 2 ** Math.floor(Math.log2(atLeast / SECOND_MS));
  return Math.ceil(atLeast / step) * step;
}
