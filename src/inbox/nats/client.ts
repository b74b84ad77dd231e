import { checkVersion, requireMethods } from "../../common/option-checks.js";

// The parts of the NATS clients 3 that the driver uses, as structural types: wrapped ones fit them too.

/** The members of a `NatsConnection` that the driver uses. */
export interface NatsConnection {
  readonly info?: { readonly max_payload: number } | undefined;
  /** Resolves when the server has answered all that was sent. */
  flush(): PromiseLike<void>;
}

/** NATS's default, for a connection that does not tell. */
const MAX_PAYLOAD = 1_048_576;
/** For the headers of a message, which count as payload. */
const HEADER_BYTES = 1_024;

/** The most bytes of a message beside its headers. */
export function maxMessageBytesOf({ info }: NatsConnection): number {
  return (info?.max_payload ?? MAX_PAYLOAD) - HEADER_BYTES;
}

/** The members of a `JetStreamClient` that the driver uses. */
export interface NatsJetStream {
  readonly consumers: { get(stream: string, name: string): PromiseLike<NatsConsumer> };
  publish(
    subject: string,
    data: string | Uint8Array,
    options: { readonly msgID: string },
  ): PromiseLike<{ readonly seq: number; readonly duplicate: boolean }>;
  jetstreamManager(): PromiseLike<NatsManager>;
}

/** The members of a `JetStreamManager` that the driver uses. */
export interface NatsManager {
  readonly streams: {
    add(config: { readonly name: string }): PromiseLike<unknown>;
    info(stream: string): PromiseLike<NatsStreamInfo>;
    getMessage(stream: string, query: NatsQuery): PromiseLike<NatsStoredMessage | null>;
    deleteMessage(stream: string, seq: number): PromiseLike<boolean>;
  };
  readonly consumers: {
    add(stream: string, config: { readonly durable_name: string }): PromiseLike<unknown>;
    update(
      stream: string,
      name: string,
      config: { readonly ack_wait: number },
    ): PromiseLike<unknown>;
    info(stream: string, name: string): PromiseLike<NatsConsumerInfo>;
  };
}

/** The message at `seq`, or the last one with a subject. With `next_by_subj` the first from `seq` on. */
export type NatsQuery = { seq: number; next_by_subj?: string } | { last_by_subj: string };

interface NatsStreamInfo {
  readonly config: {
    readonly subjects?: readonly string[];
    readonly retention: string;
    readonly discard: string;
    readonly max_age: number;
  };
  readonly state: { readonly messages: number; readonly consumer_count: number };
}

interface NatsConsumerInfo {
  /** Messages that no consumer has had yet. */
  readonly num_pending: number;
  readonly delivered: { readonly stream_seq: number };
}

/** A message that stays in its stream. */
export interface NatsStoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: Date;
  readonly data: Uint8Array;
}

/** A message that a consumer has received. */
export interface NatsMessage extends NatsStoredMessage {
  readonly info: { readonly deliveryCount: number };
  working(): void;
  nak(ms?: number): void;
  /** Resolves when the server has the acknowledgement. */
  ackAck(): PromiseLike<boolean>;
}

/** A request for messages. */
export interface NatsPull extends AsyncIterable<NatsMessage> {
  close(): PromiseLike<unknown>;
}

/** A pull consumer. */
export interface NatsConsumer {
  fetch(options: {
    readonly max_messages: number;
    readonly expires: number;
  }): PromiseLike<NatsPull>;
}

const NATS = "@nats-io/jetstream 3 with a connection of @nats-io/transport-node 3";

/** Throws `ConfigurationError` unless both are of a supported version. */
export function checkClients(connection: unknown, jetstream: unknown): void {
  const methods = ["publish", "jetstreamManager"];
  checkVersion("jetstream", jetstream, methods, "@nats-io/jetstream", NATS);
  const isOther = (what: string) => (name: string) => `${what}: it lacks the method ${name}`;
  requireMethods(jetstream, methods, isOther("jetstream must be jetstream(connection)"));
  requireMethods(connection, ["flush"], isOther("connection must be the connection of jetstream"));
}
