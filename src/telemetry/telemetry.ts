import type { Log } from "../answer/logger.js";
import type { HandledDelivery, OutcomeReport } from "../answer/observers.js";
import type { MeasuredReceiver } from "./tally.js";

/**
 * Sees each request, each write of a job and each run of a job: the option `telemetry` of the receiver, of
 * `inbox` and of every worker. `openTelemetry` of `/opentelemetry` makes one.
 *
 * What its methods throw is logged once and changes nothing else. They are called in the asynchronous
 * context of the request or the job.
 *
 * @example
 * const timings: WebhookTelemetry<number> = {
 *   begin: () => performance.now(),
 *   run: (_startedAt, _work, call) => call(),
 *   end: (startedAt, { outcome }) => console.log(outcome, performance.now() - startedAt),
 * };
 */
export interface WebhookTelemetry<State = unknown> {
  /**
   * Called when a request arrives, before anything of it is read, when a job is about to be written, and
   * when a job is about to run. What it returns is passed to the other two methods.
   */
  begin(kind: TelemetryWork["kind"]): State;
  /**
   * Called around the handler, or around the write of a job. It must call `call` at once, and only once: an
   * asynchronous context that it sets then reaches the handler. `call` returns what the handler is waited
   * for, which never rejects. Not called if no handler runs.
   */
  run<Result>(state: State, work: TelemetryWork, call: () => Result): Result;
  /**
   * Called with each report: of `onOutcome` for a request, of `onJob` for a job. A request whose handler
   * settles after `handler_timeout` has two, the second with `late: true`. Only `error` of a report may
   * hold personal data.
   */
  end(state: State, report: OutcomeReport | SendReport | JobReport): void;
  /** @internal For telemetry of this package. One that wraps it passes it on, as `{ ...telemetry }` does. */
  readonly internal?: object | undefined;
}

/** The member `internal` of telemetry that reads the numbers of each receiver and queue that it is given to. */
export interface InternalTelemetry {
  /** Called once for each inbox. */
  readonly connectQueue: (queue: MeasuredQueue) => void;
  /** Called once for each receiver. */
  readonly connectReceiver: (receiver: MeasuredReceiver, log: Log) => void;
  /** Whether it also wants to see each delivery. If not, deliveries have no observer. */
  readonly seesDeliveries: boolean;
}

/** What a queue says of its jobs. A number that the engine does not know is left out. */
export interface QueueState {
  readonly count?: number | undefined;
  /** How long the oldest job that is due has waited for a worker, in milliseconds; 0 if none waits. */
  readonly oldestMs?: number | undefined;
  readonly dead?: number | undefined;
}

/** A queue that jobs are written to, as far as metrics read it. */
export interface MeasuredQueue {
  readonly name?: string | undefined;
  waiting?(): PromiseLike<QueueState>;
}

/** What a handler is about to do. Holds nothing of a body. */
export type TelemetryWork = HandledDelivery | SentJob | StartedJob;

/** A job that is about to be written into a queue. */
export interface SentJob {
  readonly kind: "send";
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** The queue's name; undefined for a driver without a name. */
  readonly queueName: string | undefined;
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  readonly recovered?: true;
  /** What is set here is stored with the job: the fields `traceparent` and `tracestate` of W3C Trace Context. */
  readonly carrier: TraceCarrier;
}

/** How the write of a job ended. */
export interface SendReport {
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  readonly outcome: "sent" | "failed";
  /** What the write threw, without the data that drivers quote. */
  readonly error?: unknown;
}

/** A job whose handler is about to run. */
export interface StartedJob {
  readonly kind: "job";
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** The queue's name; undefined for a driver without a name. */
  readonly queueName: string | undefined;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** True if an earlier run may have had its effect. */
  readonly takeover: boolean;
  /** True if `recoverDelivery` was called for the delivery, and the gateway did not send it. */
  readonly recovered?: true;
  /** What was set when the job was written. */
  readonly carrier: Readonly<TraceCarrier>;
}

/** The place of a job in a trace (W3C Trace Context). */
export interface TraceCarrier {
  traceparent?: string;
  tracestate?: string;
}

/** What happened to one run of a job, for metrics and alerts. Only `error` may hold personal data. */
export interface JobReport {
  /**
   * - `handled`: the handler finished.
   * - `discarded`: the handler threw `DiscardDelivery`, or this event type has no handler while others have one.
   * - `unhandled`: nothing of this webhook type has a handler. The job is completed, so the delivery is lost.
   * - `retry_later`: the handler threw `RetryLater`; the engine runs the job again.
   * - `handler_failed`: the handler threw, or the job could not be read; the engine runs the job again.
   * - `dead`: the engine does not run the job again. Replaces `retry_later` and `handler_failed` on the
   *   last attempt. Also reported for a job that the engine gave up because its workers crashed or took
   *   too long. `list` and `replay` of the driver show such a job and run it again.
   */
  readonly outcome:
    "handled" | "discarded" | "unhandled" | "retry_later" | "handler_failed" | "dead";
  /**
   * The number of this attempt, from 1. For a dead job it is the number of all attempts. A replay restarts
   * at 1.
   */
  readonly attempt: number;
  /** True if this was the last attempt: the job is dead if it failed. Always true for `dead`. */
  readonly lastAttempt: boolean;
  /** X-Webhook-Id; if the job cannot be read, the engine's id of the job. */
  readonly id: string;
  /** X-Webhook-Type; undefined if the job cannot be read. */
  readonly type: string | undefined;
  /** How long the handler ran, in milliseconds. 0 if it did not run. */
  readonly durationMs: number;
  /** Milliseconds from the time the delivery was queued to the start of this run. 0 if the handler did not run. */
  readonly waitedMs: number;
  /** True if an earlier run may have had its effect: its worker crashed or took too long, or the job was replayed. */
  readonly takeover?: true;
  /**
   * True if `recoverDelivery` was called for the delivery, and the gateway did not send it. Not known of a job that the
   * engine gave up.
   */
  readonly recovered?: true;
  /** What the handler threw, or why the engine gave up the job (`dead_job`). */
  readonly error?: unknown;
}
