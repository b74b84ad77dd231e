import type { OnlineDataEventType } from "../records/online-data-event.js";
import type { WebhookRequest } from "../delivery/request.js";
import type { WebhookOutcome } from "./outcome.js";

/** What `onOutcome` gets: what became of one request. Only `error` may hold personal data. */
export interface OutcomeReport {
  /** What became of the request. */
  readonly outcome: WebhookOutcome;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Bytes of the body that were received. */
  readonly bytes: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
  /**
   * X-Webhook-Id, once the signature is good. With `acceptUnsignedDeliveries` it is the id of any
   * request with well-formed headers, as the sender chose it.
   */
  readonly id?: string;
  /** X-Webhook-Type; set when `id` is. It is not signed: for `type_mismatch` it differs from the body's. */
  readonly type?: string;
  /** The documented type of an Online Data event, or `other` for one that is not documented. */
  readonly eventType?: OnlineDataEventType | "other";
  /**
   * Index of the secret that matched, from 0, in the list for this webhook type. During a rotation it
   * shows when the old secret is no longer used.
   */
  readonly secretIndex?: number;
  /** True if an earlier run of this delivery ended without a result, so its effect may exist already. */
  readonly takeover?: boolean;
  /**
   * With `once`: true if the record was handled (`duplicate`), or is being handled (`in_flight`), under another
   * X-Webhook-Id.
   */
  readonly sameRecord?: true;
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  readonly recovered?: true;
  /**
   * True in the second report of a delivery, which is made when the handler settles after
   * `handler_timeout`, or is given up after `handlerMaxMs`. `outcome` then says how the handler ended, and
   * `durationMs` lasts until then. `status` is still the status that was answered.
   */
  readonly late?: true;
  /** True if the sender hung up before it could be answered, as far as the server can tell. */
  readonly disconnected?: true;
  /**
   * Milliseconds from `created_at` of the alarm, or `occurred_at` of the event, to X-Webhook-Timestamp: how
   * long the gateway has been trying. Of a recovered one, to its recovery: how late it is handled. Left out if the
   * dates do not tell, as a local time without a zone, and beyond seven days.
   */
  readonly lagMs?: number;
  /**
   * Which of the gateway's 10 attempts this probably is, from 1, by `lagMs` and the gateway's schedule. For alarms
   * only: an event may have occurred long before it was recorded.
   */
  readonly attempt?: number;
  /** What the handler, the store or the secret function threw. */
  readonly error?: unknown;
}

/**
 * What `onAuthenticDelivery` gets: a request with a good signature, and what became of it. With
 * `acceptUnsignedDeliveries` it is any request with well-formed headers, which anyone can send. The body
 * is personal data.
 */
export interface AuthenticDelivery {
  /** The request as `receive` got it. The signature covers the bytes of its body. */
  readonly request: WebhookRequest;
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. It is not signed: for `type_mismatch` it differs from the body's. */
  readonly type: string;
  /** The receiver's clock when the answer was made. */
  readonly receivedAt: Date;
  /** What became of the request. */
  readonly outcome: WebhookOutcome;
  /** HTTP status of the answer. */
  readonly status: number;
}

/** What observers get, while it is made. Its fields are set one by one: with spreads a traced delivery takes a fifth longer. */
export type Draft<Report> = { -readonly [Field in keyof Report]: Report[Field] };

/** An authentic delivery whose handler is about to run, as telemetry gets it. Holds nothing of the body. */
export interface HandledDelivery {
  readonly kind: "delivery";
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** The documented type of an Online Data event, or `other` for one that is not documented. */
  readonly eventType?: string;
  /** X-Webhook-Timestamp in Unix milliseconds. */
  readonly timestampMs: number;
  /** Bytes of the body. */
  readonly bytes: number;
  /** True if an earlier run of this delivery ended without a result. */
  readonly takeover: boolean;
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  readonly recovered?: true;
}

/** What telemetry sees of one request. Neither method throws. */
export interface RequestObservation {
  /** Runs around the handler. Returns what `call` returns, and calls it exactly once. */
  run<Result>(delivery: HandledDelivery, call: () => Result): Result;
  /** Takes each report of the request. */
  end(report: OutcomeReport): void;
}

/**
 * The durations that a receiver measures if anyone wants them. `receive`: from the arrival of an authentic delivery
 * to its answer. `handler`: from the call of a handler until it settles. `lag`: from `created_at` of an alarm
 * to X-Webhook-Timestamp, so how long the gateway has been trying. `store`: an asynchronous call of the
 * store, with the attribute `operation`.
 */
export type DurationName = "receive" | "handler" | "lag" | "store";

/** Where durations go: histograms of ours, or those of OpenTelemetry. */
export interface DurationRecorder {
  /** `seconds` is at least 0. */
  record(name: DurationName, seconds: number, attributes?: Readonly<Record<string, string>>): void;
}
