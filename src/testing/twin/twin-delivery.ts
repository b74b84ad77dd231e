import type { Fault } from "./faults.js";
import type { Verdict } from "./verdict.js";

/**
 * One request in the attempts history, as the gateway keeps it with `enable_requests_history`. Which
 * fields the gateway keeps is not documented. The body is not among these: it is personal data.
 */
export interface TwinAttempt {
  /** X-Webhook-Id. */
  readonly id: string;
  /** Title of the webhook that was called. */
  readonly webhook: string;
  /** From 1. */
  readonly number: number;
  /** 0 for the attempt itself; from 1 for further copies of it, whose answers decide nothing. */
  readonly copy: number;
  /** The twin's clock when the request was built. */
  readonly at: Date;
  /** The gap of the schedule before it, in milliseconds of the schedule. */
  readonly waitedMs: number;
  /** What was answered; undefined where no answer came. */
  readonly status?: number;
  /** The outcome that the answer's JSON names, where it names one. */
  readonly outcome?: string;
  /** Why no answer came. */
  readonly error?: string;
  /** A fault that the twin made up. */
  readonly fault?: Fault;
  /** Milliseconds until the answer or the error; of the virtual clock where there is one. */
  readonly ms: number;
  /** What it means to the gateway. */
  readonly verdict: Verdict;
}

/**
 * How a delivery ended: `given_up` after a final status (or an unlisted one), `exhausted` after the
 * last attempt, `stopped` where the run was stopped before either.
 */
export type TwinEnd = "acknowledged" | "given_up" | "exhausted" | "stopped";

/** One delivery to one webhook, and what became of it. */
export interface TwinDelivery {
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. */
  readonly type: string;
  /** Title of the webhook that was called. */
  readonly webhook: string;
  readonly end: TwinEnd;
  /** What the last attempt was answered: the status that did it. Undefined where no answer came. */
  readonly status?: number;
  /** One sentence on the end, for a person. */
  readonly reason: string;
  /** Every request, in the order of the answers' attempts and copies. */
  readonly attempts: readonly TwinAttempt[];
}

/** What is said of a delivery's end. `last` is its last attempt, copies apart. */
export function reasonOf(end: TwinEnd, last: TwinAttempt | undefined): string {
  if (last === undefined) return "stopped before the first attempt";
  const { number, status, error, verdict } = last;
  const answer =
    status === undefined ? `no answer (${String(error)})` : `answered ${String(status)}`;
  const at = `${answer} at attempt ${String(number)}`;
  switch (end) {
    case "acknowledged":
      return at;
    case "given_up":
      return verdict === "final"
        ? `${at}: this status stops the gateway's retries`
        : `${at}: the gateway's document does not name this status, which is taken for the end`;
    case "exhausted":
      return `${at}, which was the last`;
    case "stopped":
      return `${at}, then stopped`;
  }
}
