import { delayedResponse, type Answer, type WebhookResponse } from "./answer.js";
import { guarded } from "./guarded.js";
import { createThinning, type Logger } from "./logger.js";
import type { Outcome, OutcomeRule } from "./outcome.js";

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
  /** True where the claim, or the transaction, took over an ended lease. */
  readonly takeover?: boolean;
  /** What the handler, the store or the secret function threw. */
  readonly error?: unknown;
}

/** What is known of a request so far; becomes its report. All of it from the start, of one shape. */
export interface Trace {
  readonly startedAt: number;
  bytes: number;
  id: string | undefined;
  type: string | undefined;
  secretIndex: number | undefined;
  takeover: true | undefined;
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
  answerOf: (outcome: Outcome) => Answer,
  onOutcome: ((report: OutcomeReport) => unknown) | undefined,
  logger: Logger | false,
): Reporter {
  const thinned = createThinning(monotonicNow);

  const log: Reporter["log"] = (level, message, details) => {
    if (logger === false) return;
    const line = `identity-gateway-webhooks: ${message}`;
    guarded(() => (details === undefined ? logger[level](line) : logger[level](line, details)));
  };

  /** The line of an outcome; undefined where none is to be written now. */
  const lineOf = ({ outcome, advice }: Ending, rule: OutcomeRule): string | undefined => {
    const heldBack = rule.thinned === true ? thinned(outcome) : 0;
    if (heldBack === undefined) return undefined;
    const more = heldBack === 0 ? "" : ` (and ${String(heldBack)} more since the last such line)`;
    const hint = advice === undefined ? "" : ` ${advice}`;
    return `${outcome}: ${rule.message}${hint}${more}`;
  };

  return {
    begin: () => ({
      startedAt: monotonicNow(),
      bytes: 0,
      id: undefined,
      type: undefined,
      secretIndex: undefined,
      takeover: undefined,
    }),
    end(trace, ending) {
      const answer = answerOf(ending.outcome);
      const { retryAfterMs } = ending;
      const response =
        retryAfterMs === undefined ? answer.response : delayedResponse(answer, retryAfterMs);
      const level = logger === false ? undefined : answer.rule.log;
      const line = level === undefined ? undefined : lineOf(ending, answer.rule);
      // Nobody to tell: that is most requests.
      if (onOutcome === undefined && line === undefined) return response;
      const report = createReport(trace, ending, response.status);
      if (level !== undefined && line !== undefined) log(level, line, report);
      if (onOutcome !== undefined) guarded(() => onOutcome(report));
      return response;
    },
    log,
  };
}

/** The report without what is not known: to whom it goes, a key that is there has a value. */
function createReport(trace: Trace, { outcome, error }: Ending, status: number): OutcomeReport {
  const { startedAt, bytes, id, type, secretIndex, takeover } = trace;
  return {
    outcome,
    status,
    bytes,
    durationMs: monotonicNow() - startedAt,
    ...(id === undefined ? {} : { id }),
    ...(type === undefined ? {} : { type }),
    ...(secretIndex === undefined ? {} : { secretIndex }),
    ...(takeover === undefined ? {} : { takeover }),
    ...(error === undefined ? {} : { error }),
  };
}
