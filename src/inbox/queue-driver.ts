import type { QueueState } from "../telemetry/telemetry.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import type { InboxJob } from "./inbox-job.js";

/**
 * What an inbox needs of a queue engine.
 *
 * Test a driver of your own with `queueDriverContract` of `identity-gateway-webhooks/testing`.
 */
export interface QueueDriver<Context = DeliveryContext>
  extends QueueProducer<Context>, QueueConsumer {
  /** The queue's name, for telemetry. */
  readonly name: string;
}

/** The half of a driver that `inbox` needs. */
export interface QueueProducer<Context = DeliveryContext> {
  /** The queue's name, for telemetry. */
  readonly name?: string | undefined;
  /** The largest job that the engine takes: bytes of its JSON. Undefined: no limit that matters. */
  readonly maxJobBytes?: number | undefined;
  /**
   * Writes one job. The promise must resolve only when the write would survive a crash of this process: then
   * the gateway is answered 200. It must reject if that is unknown. Two jobs of one delivery do no harm: the
   * store of the worker remembers its id.
   *
   * The log and `onOutcome` get only the name, the code and the first words of its error, because clients
   * quote the data that they were given.
   */
  put(job: InboxJob, context: Context): PromiseLike<unknown>;
  /**
   * How many jobs wait for a worker, how long the oldest one that is due has waited (0 if none is due), and
   * how many jobs are dead. Metrics call it at each export.
   */
  waiting?(): PromiseLike<QueueState>;
}

/** The half of a driver that `inboxConsume` needs. */
export interface QueueConsumer {
  /** The queue's name, for telemetry. */
  readonly name?: string | undefined;
  /**
   * What keeps a message ours while it runs: calls of its `extend`, the connection, or nothing. With
   * `"never"` a handler that outlives `maxRunMs` runs beside the next run, unless the store still leases it.
   */
  readonly extends: "message" | "connection" | "never";
  /** The longest run that the engine allows, in milliseconds. The handler's signal aborts then. */
  readonly maxRunMs?: number | undefined;
  /**
   * Hands out messages until `stop`, at most `concurrency` at once. It owns polling, prefetch and batches,
   * reports what fails to `onError`, and never throws. `run` never rejects, and settles the message itself.
   * `onBuried`: a job that the engine itself gave up, because its workers crashed. Its promise resolves when
   * the report is made.
   *
   * Left out by an engine that calls from outside, such as Lambda's event source: it calls the `run` that
   * `inboxConsume` returns.
   */
  receive?(run: (message: QueueMessage) => Promise<void>, options: ReceiveOptions): Receiving;
}

/** What `QueueConsumer.receive` is given. */
export interface ReceiveOptions {
  /** The most messages that run at once. */
  readonly concurrency: number;
  /**
   * How long a message must stay ours from its receipt, in milliseconds, if calls of `extend` keep it: the first
   * call comes after a third of that.
   */
  readonly leaseMs: number;
  onError(error: unknown): void;
  onBuried(message: Pick<QueueMessage, "id" | "data" | "attempt">, reason?: string): void;
}

/** A consumer at work. */
export interface Receiving {
  /** Takes no more messages, and resolves when those at work have settled or the time is over. */
  stop(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
}

/** One job that a consumer has received. */
export interface QueueMessage {
  /** The engine's id. Logs use it if the job cannot be read. */
  readonly id: string;
  /** The job as it was put. Anything, if another program put it. */
  readonly data: unknown;
  /** The number of this attempt, from 1. A run that did not fail does not count; a crash of its worker may. */
  readonly attempt: number;
  /**
   * How often its workers have crashed since a run ended by itself. After 15 crashes the job is dead, and does not run
   * again. Undefined if the engine does not tell them from failures: then the job is dead when its attempt is 15 beyond
   * the last.
   */
  readonly crashes?: number | undefined;
  /** After this attempt the engine gives up the job. Undefined: it never does by itself. */
  readonly maxAttempts?: number | undefined;
  /** When it was put. */
  readonly enqueuedAt?: Date | undefined;
  /** Aborts when the engine has given the message to another worker. */
  readonly lost?: AbortSignal | undefined;
  /** Keeps the message ours for `ms` milliseconds from now. False: it is lost. */
  extend?(ms: number): PromiseLike<boolean>;
  /** False: the engine did not take it, so the message may come again. */
  settle(settlement: QueueSettlement): PromiseLike<boolean>;
}

/** How a run ended, and what the engine must do with the message. */
export type QueueSettlement =
  /** Remove it, with its body. */
  | { readonly result: "done" }
  /**
   * Run it again after `afterMs`, not sooner. Without `error` the run did not fail, because another worker has
   * the delivery or the store is away: that must not count as an attempt. An engine that counts every receipt
   * sends the job anew, and never buries one that did not fail. With `isLeased` the job has not run at all, because
   * the store still leases it, perhaps to a worker that has crashed: a new message must keep the count of crashes.
   */
  | {
      readonly result: "retry";
      readonly afterMs: number;
      readonly error?: Error | undefined;
      readonly isLeased?: true | undefined;
    }
  /** Never run it again: keep it where operators can list and replay it. `error` quotes no body. */
  | { readonly result: "dead"; readonly error: Error };
