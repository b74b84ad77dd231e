import type { AdapterSide } from "./adapter-side.js";
import { delayedResponse, type Answer, type WebhookResponse } from "./answer.js";
import { endOf } from "../common/guarded.js";
import { createLog, type Log, type Logger } from "./logger.js";
import { ruleOf, type Outcome, type OutcomeRule } from "./outcome.js";
import { helpText } from "./outcome-help.js";
import { type WebhookRequest, holdOpen, type WaitUntil } from "../delivery/request.js";
import { ignoredWarning } from "../handling/run-handler.js";
import type { Place } from "../common/places.js";
import { createThinning } from "./thinning.js";

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
  /**
   * X-Webhook-Id, once the signature is good; with `acceptUnsignedDeliveries` that of any request whose
   * headers are well-formed, as its sender chose it.
   */
  readonly id?: string;
  /** X-Webhook-Type, known when `id` is. Not signed: of a `type_mismatch` it is not the body's. */
  readonly type?: string;
  /** Index of the secret that matched, to see when an old one is no longer used. */
  readonly secretIndex?: number;
  /** True where the claim, or the transaction, took over an ended lease. */
  readonly takeover?: boolean;
  /**
   * True in the second report of a delivery, made when its handler settles after `handler_timeout`, or
   * is given up after `handlerMaxMs`. `outcome` then says how it ended, `status` is still the one that
   * was answered, and `durationMs` lasts until now.
   */
  readonly late?: true;
  /** True where the sender had hung up before it could be answered, as far as the server can tell. */
  readonly disconnected?: true;
  /** What the handler, the store or the secret function threw. */
  readonly error?: unknown;
}

/** What is known of a request so far; becomes its report. All of it from the start, of one shape. */
export interface Trace {
  readonly startedAt: number;
  bytes: number;
  id: string | undefined;
  type: string | undefined;
  /** X-Webhook-Timestamp in Unix milliseconds. */
  timestampMs: number;
  secretIndex: number | undefined;
  takeover: true | undefined;
  /** Its place among the handlers that run. */
  place: Place | undefined;
  /** The platform's, for work that goes on after the answer. */
  waitUntil: WaitUntil | undefined;
}

/** How the way of a request ended. */
export interface Ending {
  readonly outcome: Outcome;
  readonly error?: unknown;
  /** Replaces the outcome's own `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** What a handler returned in vain. */
  readonly ignored?: string | undefined;
  /** What to change, for the log alone. */
  readonly advice?: string | undefined;
  /** How the delivery ends after all; only of `handler_timeout`. Never rejects. */
  readonly late?: Promise<Ending>;
  /** What the store is told after the answer. Never rejects. */
  readonly unfinished?: Promise<void> | undefined;
  /** What exactly is wrong, for the log alone. Called only where a line is written. */
  readonly fact?: (() => string) | undefined;
}

/** Answers, reports and logs the end of a request. */
export interface Reporter {
  readonly begin: () => Trace;
  readonly end: (trace: Trace, ending: Ending, request: WebhookRequest) => WebhookResponse;
  /** Reports how a delivery ended that was answered `handler_timeout`. */
  readonly endLate: (trace: Trace, ending: Ending) => Promise<void> | undefined;
  /** Writes a line that belongs to no request's outcome. */
  readonly log: Log;
  /** Writes that an answer did not go out, once a minute for each outcome. */
  readonly logLostAnswer: AdapterSide["logLostAnswer"];
}

/** The clock of durations: no change of the system's time makes one negative. */
const monotonicNow = () => performance.now();

/** Makes the last step of every request. Neither a logger nor `onOutcome` that throws changes the answer. */
export function createReporter(
  answerOf: (outcome: Outcome) => Answer,
  onOutcome: ((report: OutcomeReport) => unknown) | undefined,
  logger: Logger | false,
): Reporter {
  // Apart, so that a flood of ids does not make room for lines of what anyone can cause.
  const thinnedByOutcome = createThinning(monotonicNow);
  const thinnedById = createThinning(monotonicNow);
  const thinnedLostAnswers = createThinning(monotonicNow);

  const log = createLog(logger);

  let hasWarnedOfIgnored = false;
  const warnOfIgnored = (returned: string): void => {
    if (hasWarnedOfIgnored) return;
    hasWarnedOfIgnored = true;
    log("warn", ignoredWarning(returned));
  };

  const heldBackOf = (outcome: Outcome, rule: OutcomeRule, id = ""): number | undefined => {
    switch (rule.thinned) {
      case "by_outcome":
        return thinnedByOutcome(outcome);
      case "by_id":
        return thinnedById(`${outcome} ${id}`);
      case undefined:
        return 0;
    }
  };

  const lineOf = (
    { outcome, advice, fact }: Ending,
    rule: OutcomeRule,
    id: string | undefined,
  ): string | undefined => {
    const heldBack = heldBackOf(outcome, rule, id);
    if (heldBack === undefined) return undefined;
    const more = heldBack === 0 ? "" : `(and ${String(heldBack)} more since the last such line)`;
    const parts = [rule.message, factOf(fact), advice, more, helpText(outcome)];
    return `${outcome}: ${parts.filter((part) => part !== undefined && part !== "").join(" ")}`;
  };

  return {
    begin: () => ({
      startedAt: monotonicNow(),
      bytes: 0,
      id: undefined,
      type: undefined,
      timestampMs: Number.NaN,
      secretIndex: undefined,
      takeover: undefined,
      place: undefined,
      waitUntil: undefined,
    }),
    end(trace, ending, request) {
      if (ending.ignored !== undefined) warnOfIgnored(ending.ignored);
      const answer = answerOf(ending.outcome);
      const { retryAfterMs } = ending;
      const response =
        retryAfterMs === undefined ? answer.response : delayedResponse(answer, retryAfterMs);
      const level = logger === false ? undefined : answer.rule.log;
      const line = level === undefined ? undefined : lineOf(ending, answer.rule, trace.id);
      // Nobody to tell: that is most requests.
      if (onOutcome === undefined && line === undefined) return response;
      const report = createReport(trace, ending, response.status, request);
      if (level !== undefined && line !== undefined) log(level, line, report);
      if (onOutcome !== undefined)
        holdOpen(
          trace,
          endOf(() => onOutcome(report)),
        );
      return response;
    },
    endLate(trace, ending) {
      const { outcome, ignored } = ending;
      if (ignored !== undefined) warnOfIgnored(ignored);
      const { status } = ruleOf("handler_timeout");
      const report: OutcomeReport = { ...createReport(trace, ending, status), late: true };
      log(ruleOf(outcome).log ?? "warn", `${outcome}, but after handlerTimeoutMs`, report);
      return onOutcome && endOf(() => onOutcome(report));
    },
    log,
    logLostAnswer(answer, reason, error) {
      const { outcome = "internal_error", status } = answer ?? {};
      if (logger === false || thinnedLostAnswers(outcome) === undefined) return;
      const details = { outcome, status, ...(error === undefined ? {} : { error }) };
      log("error", `answer_lost: ${outcome} did not reach the sender: ${reason}.`, details);
    },
  };
}

/** Asked when the report is made. What cannot tell counts as connected. */
function hasHungUp(request: WebhookRequest | undefined): boolean {
  try {
    return request?.isDisconnected?.() === true;
  } catch {
    return false;
  }
}

/** A fact is read from a partner's objects, which may throw. */
function factOf(fact: Ending["fact"]): string | undefined {
  try {
    return fact?.();
  } catch {
    return undefined;
  }
}

/** The report without what is not known: to whom it goes, a key that is there has a value. */
function createReport(
  trace: Trace,
  { outcome, error }: Ending,
  status: number,
  request?: WebhookRequest,
): OutcomeReport {
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
    ...(hasHungUp(request) ? { disconnected: true } : {}),
    ...(error === undefined ? {} : { error }),
  };
}
