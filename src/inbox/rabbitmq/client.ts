// The parts of amqplib's promise API that the driver uses, as structural types: wrapped ones fit them too.

declare const Buffer: { from(text: string): Uint8Array };

/** The content of a message. amqplib takes nothing but a `Buffer`. */
export function contentOf(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The members of a connection that the driver uses. */
export interface AmqpConnection {
  createConfirmChannel(): PromiseLike<AmqpChannel>;
  close(): PromiseLike<void>;
  on(event: "error" | "close", listener: (error?: Error) => void): unknown;
}

/** What a message is published with. */
export interface AmqpPublishOptions extends Partial<AmqpReplyAddress> {
  readonly persistent?: true;
  readonly mandatory?: true;
  readonly messageId?: string;
  readonly headers?: object;
}

/** Where to report how the run of a message ended. */
export interface AmqpReplyAddress {
  readonly replyTo: string;
  readonly correlationId: string;
}

/** The members of a confirm channel that the driver uses. */
export interface AmqpChannel {
  assertQueue(
    queue: string,
    options:
      | { readonly durable: true; readonly arguments: object }
      | { readonly exclusive: true; readonly autoDelete: true },
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
    options?: { readonly noAck: true },
  ): PromiseLike<{ readonly consumerTag: string }>;
  cancel(consumerTag: string): PromiseLike<unknown>;
  get(queue: string): PromiseLike<AmqpMessage | false>;
  ack(message: AmqpMessage): void;
  nack(message: AmqpMessage, allUpTo: boolean, requeue: boolean): void;
  nackAll(requeue: boolean): void;
  close(): PromiseLike<void>;
  on(event: "error" | "close", listener: (error?: Error) => void): unknown;
  on(event: "return", listener: (message: AmqpMessage) => void): unknown;
}

/** A message that a channel has received. */
export interface AmqpMessage {
  readonly content: Uint8Array;
  readonly fields: { readonly deliveryTag: number };
  readonly properties: {
    readonly messageId?: unknown;
    readonly replyTo?: unknown;
    readonly correlationId?: unknown;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
  };
}
