import { byWhom, type AnsweredBy } from "../sending/answered-by.js";
import type { Fault } from "./faults.js";
import type { AttemptResult } from "./attempt-result.js";

/**
 * One request in the history of attempts. The gateway keeps such a history with `enable_requests_history`,
 * but does not document its fields. The body is left out, since it is personal data.
 *
 * @experimental
 */
export interface TwinAttempt {
  /** X-Webhook-Id. */
  readonly id: string;
  /** Title of the webhook that was called. */
  readonly webhook: string;
  /** Number of the attempt, from 1. */
  readonly number: number;
  /** 0 for the first request of the attempt, from 1 for its repeats. Only the answer to request 0 counts. */
  readonly repeat: number;
  /** When the request was built, on the twin's clock. */
  readonly at: Date;
  /** The gap before the attempt, in milliseconds of the retry schedule. */
  readonly waitedMs: number;
  /** HTTP status of the answer. Undefined when no answer arrived. */
  readonly status?: number;
  /** The outcome in the answer's JSON, if it names one. */
  readonly outcome?: string;
  /** Who gave a 2xx. To the gateway all of them are the same. */
  readonly answeredBy?: AnsweredBy;
  /** Why no answer arrived. */
  readonly error?: string;
  /** A fault that the twin injected. */
  readonly fault?: Fault;
  /** Milliseconds until the answer or the error. With a virtual clock, in its time. */
  readonly ms: number;
  /** What the answer means to the gateway. */
  readonly result: AttemptResult;
}

/**
 * How a delivery ended. May gain members in a minor version.
 *
 * - `acknowledged`: a 2xx was answered. `answeredBy` of the last attempt says what is known of who gave it.
 * - `given_up`: a final status was answered, or an unlisted one.
 * - `exhausted`: the last attempt failed.
 * - `stopped`: the twin was stopped first.
 *
 * @experimental
 */
export type TwinEnd = "acknowledged" | "given_up" | "exhausted" | "stopped";

/**
 * One delivery to one webhook, and how it ended.
 *
 * @experimental
 */
export interface TwinDelivery {
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** Title of the webhook that was called. */
  readonly webhook: string;
  /** How the delivery ended. */
  readonly end: TwinEnd;
  /** HTTP status of the last attempt, which ended the delivery. Undefined when no answer arrived. */
  readonly status?: number;
  /** One sentence that says why the delivery ended. */
  readonly reason: string;
  /** Every request of the delivery, ordered by attempt. */
  readonly attempts: readonly TwinAttempt[];
}

/** One sentence that says why a delivery ended. `last` is the first request of its last attempt. */
export function reasonOf(end: TwinEnd, last: TwinAttempt | undefined): string {
  if (last === undefined) return "stopped before the first attempt";
  const { number, status, error, result, answeredBy } = last;
  const answer = status === undefined ? `no answer (${String(error)})` : `answered ${status}`;
  const at = `${answer} at attempt ${number}`;
  if (end === "acknowledged") return at + byWhom(answeredBy);
  if (end === "exhausted") return `${at}, which was the last`;
  if (end === "stopped") return `${at}, then stopped`;
  return result === "final"
    ? `${at}: this status stops the gateway's retries`
    : `${at}: the gateway's document does not mention this status, so the twin gives up`;
}
