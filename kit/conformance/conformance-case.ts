import { GatewayWebhookError, brandErrors } from "../../src/common/errors.js";
import type { HeaderLine } from "../sending/wire.js";

/**
 * How serious a failed case is. `must`: an alarm can be lost, handled twice or forged. `should`: the cost
 * is smaller.
 *
 * @experimental
 */
export type ConformanceLevel = "must" | "should";

/** The groups of cases, in the order of a report. */
export const CONFORMANCE_GROUPS = [
  "acceptance",
  "retries",
  "idempotency",
  "forgery",
  "headers",
  "transport",
  "answers",
] as const;

/**
 * The group of a case. May gain members in a minor version.
 *
 * @experimental
 */
export type ConformanceGroup = (typeof CONFORMANCE_GROUPS)[number];

/**
 * One request of a case and the answer to it. Neither holds the secret.
 *
 * @experimental
 */
export interface ConformanceExchange {
  readonly sent: {
    readonly method: string;
    readonly headers: readonly HeaderLine[];
    /** Length of the body. */
    readonly bytes: number;
  };
  /** The answer, its `body` cut after 500 characters; or `error`, which says why no answer arrived. */
  readonly received:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
        readonly ms: number;
      }
    | { readonly error: string };
}

/**
 * What a case lacks to judge a receiver: a webhook type in `types`, a `url` as target, an option, or
 *
 * - `slow_then_failing`: a handler that is slow first and then fails when both switches are on
 * - `handled_before_answer`: a delivery that is handled before the answer, or counted in a durable queue
 * - `accepted_delivery`: a receiver that accepts a plain genuine delivery
 * - `longer_secret`: a secret of 16 characters or more
 * - `no_rate_limiter`: no limit during the run
 *
 * May gain members in a minor version.
 *
 * @experimental
 */
export type Need =
  | "new_alarm"
  | "delete_my_data_event"
  | "url"
  | "handled"
  | "whileFailing"
  | "whileSlow"
  | "slow_then_failing"
  | "handled_before_answer"
  | "accepted_delivery"
  | "longer_secret"
  | "no_rate_limiter";

/**
 * Why a receiver fails a case, in the report, in `doctor --json` and in the `type` of a JUnit `failure`. The receiver
 *
 * - `not_accepted`: refused a delivery that it must acknowledge
 * - `given_up`: answered a status after which the gateway gives up, where it must send again
 * - `unlisted_status`: answered a status that the gateway's document does not mention
 * - `no_answer`, `no_continue`: did not answer; never sent 100 Continue
 * - `server_error`: answered 5xx to a stranger
 * - `answered_by_other`: got a 2xx from something in front of it
 * - `receiver_failed`: named an outcome whose cause is the receiver, such as `handler_failed`: see its log
 * - `acknowledged`: acknowledged what it must refuse, or what must be sent again
 * - `acknowledged_early`: acknowledged a duplicate before the delivery was handled
 * - `not_handled`, `duplicates_not_handled`: acknowledged a delivery, or its duplicates, and never handled it
 * - `handled_again`: handled a delivery more than once
 * - `handled_late`: handled something again, or something refused, after its case had ended
 * - `wrongly_handled`: handled a forgery, half a body or another method
 * - `taken_for_duplicate`: took a new delivery for a duplicate
 * - `id_changed`: handled a delivery again under an id that it had changed
 * - `echo`, `leak`: repeated the request in its answer; showed the secret or the right signature
 * - `probe_failed`: was not tested, because an option of the suite failed or returned no count
 *
 * May gain members in a minor version.
 *
 * @experimental
 */
export type FailureCode =
  | "probe_failed"
  | "receiver_failed"
  | "not_accepted"
  | "given_up"
  | "unlisted_status"
  | "no_answer"
  | "server_error"
  | "answered_by_other"
  | "acknowledged"
  | "acknowledged_early"
  | "not_handled"
  | "duplicates_not_handled"
  | "handled_again"
  | "handled_late"
  | "wrongly_handled"
  | "taken_for_duplicate"
  | "id_changed"
  | "echo"
  | "leak"
  | "no_continue";

/**
 * The result of a case that did not fail.
 *
 * @experimental
 */
export interface ConformanceResult {
  /** `not_judged`: the given options do not show from outside whether the receiver conforms. */
  readonly result: "passed" | "not_judged";
  /** With `not_judged`: what is missing. With `passed`: what the case assumed unseen, if anything. */
  readonly reason?: string | undefined;
  /**
   * What the case lacks, for code that branches on it. With `not_judged` always, with `passed` if the case
   * assumed something for want of it.
   */
  readonly need?: Need | undefined;
  /** Records that the handler failed to take twice. The gateway sends each up to ten times, then it is lost. */
  readonly untaken?: readonly string[] | undefined;
  /** Every request of the case, in the order of the answers. */
  readonly exchanges: readonly ConformanceExchange[];
}

/**
 * What a case checks, why, and how to fix a receiver that fails it.
 *
 * @experimental
 */
export interface ConformanceDescription {
  /** Stable name of the case for reports, such as `duplicate_handled_once`. */
  readonly id: string;
  /** How serious a failure is. */
  readonly level: ConformanceLevel;
  /** The group in a report. */
  readonly group: ConformanceGroup;
  /** What the receiver must do, as a sentence. */
  readonly title: string;
  /** What goes wrong when the receiver does not do it. */
  readonly why: string;
  /** How to fix the receiver. */
  readonly fix: string;
}

/**
 * One requirement on a receiver, for any test runner: `test(title, run)`.
 *
 * @experimental
 */
export interface ConformanceCase extends ConformanceDescription {
  /** What the options lack for this case, known before it runs: it will be `not_judged`. Undefined if nothing is. */
  readonly unmet?: Need | undefined;
  /**
   * True for a case that must not run at the same time as another one: it makes the handler fail or slow, measures
   * what the whole receiver does, or depends on the cases before it.
   */
  readonly runsAlone: boolean;
  /** Runs the case. Rejects with a `ConformanceFailure` when the receiver fails it. Can be run again. */
  readonly run: () => Promise<ConformanceResult>;
}

/**
 * A receiver failed a conformance case. The message says what was expected and what the receiver answered.
 *
 * @experimental
 */
export class ConformanceFailure extends GatewayWebhookError<"conformance_failed"> {
  static {
    brandErrors(this, "ConformanceFailure");
  }

  /** Why the receiver fails the case: `code` of the report of `runConformance`. */
  readonly failureCode: FailureCode;
  /** `id` of the case. */
  readonly caseId: string;
  /** How serious it is: the level of the case, or `must` where a `should` is one for receivers of this library. */
  readonly level: ConformanceLevel;
  /** What goes wrong when the receiver stays as it is. */
  readonly why: string;
  /** How to fix the receiver. */
  readonly fix: string;
  /** Every request of the case. The last one got the wrong answer. */
  readonly exchanges: readonly ConformanceExchange[];

  constructor(
    failureCode: FailureCode,
    message: string,
    { id, level, why, fix }: ConformanceDescription,
    exchanges: readonly ConformanceExchange[],
  ) {
    super("conformance_failed", message);
    this.failureCode = failureCode;
    this.caseId = id;
    this.level = level;
    this.why = why;
    this.fix = fix;
    this.exchanges = exchanges;
  }
}
