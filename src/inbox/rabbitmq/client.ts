import { backend } from "#crypto";

// The parts of amqplib's promise API that the driver uses, as structural types: wrapped ones fit them too.

declare const Buffer: { from(content: string | Uint8Array): Uint8Array };

/** The content of a message. amqplib takes nothing but a `Buffer`. */
export function contentOf(value: unknown): Uint8Array {
  return Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value));
}

/** The name of a job that the inbox did not make: it has no id that stays the same. */
export async function contentNameOf(content: Uint8Array): Promise<string> {
  return backend.sha256(new TextDecoder().decode(content));
}

/** The members of a connection that the driver uses. */
export interface AmqpConnection {
  createConfirmChannel(): PromiseLike<AmqpChannel>;
  close(): PromiseLike<void>;
  on(event: "error" | "close", listener: (error?: Error) => void): unknown;
}

/** The default of RabbitMQ 4 for the size of a message is 16 MiB. */
export const MAX_JOB_BYTES = 16_000_000;

/** What a message is published with. */
interface AmqpPublishOptions {
  readonly persistent?: true;
  readonly mandatory?: true;
  readonly messageId?: string;
  readonly headers?: object;
}

/** The members of a confirm channel that the driver uses. */
export interface AmqpChannel {
  assertQueue(
    queue: string,
    options:
      | { readonly durable: true; readonly arguments: object }
      | { readonly durable: false; readonly exclusive: true },
  ): PromiseLike<unknown>;
  checkQueue(queue: string): PromiseLike<{ readonly messageCount: number }>;
  prefetch(count: number): PromiseLike<unknown>;
  publish(
    exchange: string,
    queue: string,
    content: Uint8Array,
    options: AmqpPublishOptions,
    onConfirmed: (error: unknown) => void,
  ): unknown;
  consume(
    queue: string,
    onMessage: (message: AmqpMessage | null) => void,
  ): PromiseLike<{ readonly consumerTag: string }>;
  cancel(consumerTag: string): PromiseLike<unknown>;
  get(queue: string): PromiseLike<AmqpMessage | false>;
  ack(message: AmqpMessage): void;
  nackAll(requeue: boolean): void;
  close(): PromiseLike<void>;
  on(event: "error" | "close", listener: (error?: Error) => void): unknown;
  on(event: "return", listener: (message: AmqpMessage) => void): unknown;
}

/** A message that a channel has received. */
export interface AmqpMessage {
  readonly content: Uint8Array;
  readonly properties: {
    readonly messageId?: unknown;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
  };
}
