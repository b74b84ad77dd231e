import type { Answer, WebhookResponse } from "./answer.js";
import { createThinning, type Logger } from "./logger.js";
import { isPromise } from "./maybe-promise.js";
import { ruleOf, type Outcome } from "./outcome.js";

/** What became of one request, for metrics and alerts. Holds nothing personal but what `error` brings. */
export interface OutcomeReport {
  /** What became of it. */
  readonly outcome: Outcome;
  /** HTTP status that was answered. */
  readonly status: number;
  /** Bytes of the body that were received. */
  readonly bytes: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
  /** X-Webhook-Id, once the signature is good. */
  readonly id?: string;
  /** X-Webhook-Type, once the signature is good. */
  readonly type?: string;
  /** Index of the secret that matched, to see when an old one is no longer used. */
  readonly secretIndex?: number;
  /** True where the claim took over an ended lease. */
  readonly takeover?: boolean;
  /** What the handler, the store or the secret function threw. */
  readonly error?: unknown;
}

/** What is known of a request so far; becomes its report. */
export interface Trace {
  readonly startedAt: number;
  bytes: number;
  id?: string;
  type?: string;
  secretIndex?: number;
  takeover?: boolean;
}

/** How the way of a request ended. */
export interface Ending {
  readonly outcome: Outcome;
  readonly error?: unknown;
  /** Replaces the outcome's own `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** What to change, for the log alone. */
  readonly advice?: string | undefined;
}

/** Answers, reports and logs the end of a request. */
export interface Reporter {
  readonly begin: () => Trace;
  readonly end: (trace: Trace, ending: Ending) => WebhookResponse;
  /** Writes a line that belongs to no request's outcome. */
  readonly log: (level: "warn" | "error", message: string, details?: unknown) => void;
}

/** The clock of durations: no change of the system's time makes one negative. */
const monotonicNow = () => performance.now();

/** Makes the last step of every request. Neither a logger nor `onOutcome` that throws changes the answer. */
export function createReporter(
  answer: Answer,
  onOutcome: ((report: OutcomeReport) => unknown) | undefined,
  logger: Logger | false,
): Reporter {
  const thinned = createThinning(monotonicNow);

  const log: Reporter["log"] = (level, message, details) => {
    if (logger === false) return;
    const line = `identity-gateway-webhooks: ${message}`;
    guarded(() => (details === undefined ? logger[level](line) : logger[level](line, details)));
  };

  const logEnding = (report: OutcomeReport, advice: string | undefined): void => {
    const rule = ruleOf(report.outcome);
    if (rule.log === undefined || logger === false) return;
    const heldBack = rule.thinned === true ? thinned(report.outcome) : 0;
    if (heldBack === undefined) return;
    const more = heldBack === 0 ? "" : ` (and ${String(heldBack)} more since the last such line)`;
    const hint = advice === undefined ? "" : ` ${advice}`;
    log(rule.log, `${report.outcome}: ${rule.message}${hint}${more}`, report);
  };

  return {
    begin: () => ({ startedAt: monotonicNow(), bytes: 0 }),
    end({ startedAt, ...known }, { outcome, error, retryAfterMs, advice }) {
      const response = answer(outcome, retryAfterMs);
      const report: OutcomeReport = {
        outcome,
        status: response.status,
        durationMs: monotonicNow() - startedAt,
        ...(known as Omit<OutcomeReport, "outcome" | "status" | "durationMs">),
        ...(error === undefined ? {} : { error }),
      };
      logEnding(report, advice);
      guarded(() => onOutcome?.(report));
      return response;
    },
    log,
  };
}

/** Calls a partner's code that has no say in the answer: nothing that it throws or rejects with gets out. */
function guarded(call: () => unknown): void {
  try {
    const returned = call();
    if (isPromise(returned)) returned.then(undefined, () => undefined);
  } catch {
    // There is nobody else to tell.
  }
}
