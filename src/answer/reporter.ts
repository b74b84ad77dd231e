import { RETRIES } from "../common/gateway-facts.js";
import { isLastAttempt, lagOf } from "../records/delivery-lag.js";
import { ignoreFailure } from "../common/promises.js";
import { isOnWorkers } from "../common/runtime.js";
import { holdOpen } from "../delivery/request.js";
import { answersByOutcome, delayedResponse, type WebhookResponse } from "./answer.js";
import { Log, type WebhookLogger } from "./logger.js";
import type { AuthenticDelivery, OutcomeReport, Draft } from "./observers.js";
import { causesAndCommand } from "./outcome-causes.js";
import { OUTCOMES, type OutcomeRule, type OutcomeVariant, type WebhookOutcome } from "./outcome.js";
import { isSecretProbe, type Ending, type Trace, hasHungUp } from "./trace.js";
import { eventTypeOf } from "../records/online-data-event.js";
import { LRUCache } from "lru-cache";

/** The options of a receiver that decide what it answers and who learns of it. */
export interface AnswerOptions {
  /** The outcomes whose answer makes the gateway give the delivery up. */
  readonly finalOutcomes: ReadonlySet<WebhookOutcome>;
  readonly onOutcome: ((report: OutcomeReport) => unknown) | undefined;
  readonly onAuthenticDelivery: ((delivery: AuthenticDelivery) => unknown) | undefined;
  readonly logger: WebhookLogger | false;
  readonly now: () => number;
}

interface ReporterOptions extends AnswerOptions {
  readonly tally: RequestTally;
}

/** Counts how requests end. */
interface RequestTally {
  count(trace: Trace, outcome: WebhookOutcome): void;
  countLate(trace: Trace, outcome: WebhookOutcome): void;
  readonly events: { lastAttemptsRefused: number };
}

/**
 * The last step of every request: makes the answer, writes the log line and calls the observers. Neither
 * the logger nor an observer can change the answer.
 */
export class Reporter {
  /** Also for lines that belong to no request. */
  readonly log: Log;
  readonly #options: ReporterOptions;
  readonly #answers: ReturnType<typeof answersByOutcome>;
  // Two limits, so that a flood of ids does not make the first one forget its outcomes.
  readonly #limitByOutcome = new LogRateLimit();
  readonly #limitById = new LogRateLimit();
  readonly #limitLostAnswers = new LogRateLimit();
  #hasWarnedOfIgnored = false;
  readonly #unhandled = new Set<string>();

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#answers = answersByOutcome(options.finalOutcomes);
    this.log = new Log(options.logger);
  }

  /** Answers a request. */
  end(trace: Trace, ending: Ending): WebhookResponse {
    const { onOutcome, onAuthenticDelivery, logger } = this.#options;
    const { outcome, retryAfterMs, ignored } = ending;
    if (ignored !== undefined) this.#warnOfIgnored(ignored);
    const answer = this.#answers[trace.variant ?? outcome];
    const response =
      retryAfterMs === undefined ? answer.response : delayedResponse(answer, retryAfterMs);
    const isRefused = response.status >= 300;
    const isProbe = isRefused && isSecretProbe(trace, outcome);
    if (!isProbe) {
      this.#options.tally.count(trace, outcome);
      if (isRefused && trace.record !== undefined) this.#logLastAttempt(trace, outcome);
    }
    const level = logger === false || isProbe ? undefined : answer.rule.log;
    const line = level === undefined ? undefined : this.#lineOf(ending, answer.rule, trace);
    const { observation } = trace;
    // Most requests need no report: they are handled, and there is no observer.
    if (onOutcome !== undefined || line !== undefined || observation !== undefined) {
      const report = createReport(trace, ending, response.status);
      if (level !== undefined && line !== undefined) this.log[level](line, report);
      observation?.end(report);
      if (onOutcome !== undefined) this.#observe(trace, onOutcome, report);
    }
    if (onAuthenticDelivery !== undefined && !isProbe) this.#showAuthentic(trace, response);
    return response;
  }

  /**
   * For a delivery that was answered `handler_timeout`: reports how its handler ended. Returns a promise
   * that resolves when `onOutcome` has ended, or undefined if there is nothing to wait for.
   */
  endLate(trace: Trace, ending: Ending): Promise<void> | undefined {
    const { onOutcome } = this.#options;
    const { outcome, ignored } = ending;
    if (ignored !== undefined) this.#warnOfIgnored(ignored);
    const report = createReport(trace, ending, OUTCOMES.handler_timeout.status, true);
    this.#options.tally.countLate(trace, outcome);
    const level = OUTCOMES[outcome].log ?? "warn";
    this.log[level](`${outcome}, but after handlerTimeoutMs`, report);
    trace.observation?.end(report);
    return onOutcome && ignoreFailure(() => onOutcome(report));
  }

  /** Warns once of each type that no handler is given for. */
  warnUnhandled(what: string): void {
    if (this.#unhandled.has(what)) return;
    this.#unhandled.add(what);
    this.log.warn(
      `unhandled: no handler is given for ${what}, so the delivery is dropped: it is answered 200 and not sent again. ${causesAndCommand("unhandled")}`,
    );
  }

  /** Logs that an answer did not reach the sender, once a minute for each outcome. */
  logLostAnswer(answer: WebhookResponse | undefined, reason: string, error?: unknown): void {
    const { outcome = "internal_error", status } = answer ?? {};
    if (this.#options.logger === false) return;
    if (this.#limitLostAnswers.admit(outcome) === undefined) return;
    const details = { outcome, status, ...(error === undefined ? {} : { error }) };
    this.log.error(`answer_lost: ${outcome} did not reach the sender: ${reason}.`, details);
  }

  /** The log line of a request; undefined if the rate limit holds it back. */
  #lineOf({ outcome, advice, error, fact, late }: Ending, rule: OutcomeRule, trace: Trace) {
    const heldBack = this.#admit(trace.variant ?? outcome, rule, trace.id);
    if (heldBack === undefined) return undefined;
    const more = heldBack === 0 ? "" : `(and ${String(heldBack)} more since the last such line)`;
    const isCutOff = trace.waitUntil === undefined && isOnWorkers();
    const goesOn = isCutOff
      ? "Workers cut it off: pass on (request, env, ctx)."
      : "It keeps running.";
    const parts = [
      rule.message,
      late && goesOn,
      textOf(fact),
      advice,
      more,
      // A redirected delivery has one cause, which its message names. A getter of a user's error may throw.
      trace.variant === undefined
        ? (textOf(() => causesAndCommand(outcome, error)) ?? causesAndCommand(outcome))
        : undefined,
    ];
    return `${outcome}: ${parts.filter((part) => part !== undefined && part !== "").join(" ")}`;
  }

  /** The gateway tells no one when it gives up a delivery, so this line is the only trace of it. */
  #logLastAttempt({ id, type, record, timestampMs }: Trace, outcome: WebhookOutcome): void {
    if (!isLastAttempt(record, timestampMs)) return;
    this.#options.tally.events.lastAttemptsRefused += 1;
    const line = `last attempt refused: the gateway has probably tried this delivery ${String(RETRIES.attempts)} times and does not send it again.`;
    this.log.error(line, { id, type, outcome });
  }

  #admit(outcome: WebhookOutcome | OutcomeVariant, { rateLimit }: OutcomeRule, id = "") {
    switch (rateLimit) {
      case "by_outcome":
        return this.#limitByOutcome.admit(outcome);
      case "by_id":
        return this.#limitById.admit(`${outcome} ${id}`);
      case undefined:
        return 0;
    }
  }

  #observe<Shown>(trace: Trace, observer: (shown: Shown) => unknown, shown: Shown): void {
    holdOpen(
      trace,
      ignoreFailure(() => observer(shown)),
    );
  }

  #showAuthentic(trace: Trace, { outcome, status }: WebhookResponse): void {
    const { onAuthenticDelivery, now } = this.#options;
    const { request, id, type, recovered } = trace;
    // Both are set only once the signature is good. Nothing unauthenticated may get past this line.
    if (id === undefined || type === undefined || recovered) return;
    const observed = ignoreFailure(() => {
      const receivedAt = new Date(now());
      return onAuthenticDelivery?.({ request, id, type, receivedAt, outcome, status });
    });
    holdOpen(trace, observed);
  }

  #warnOfIgnored(returned: string): void {
    if (this.#hasWarnedOfIgnored) return;
    this.#hasWarnedOfIgnored = true;
    this.log.warn(ignoredReturnWarning(returned));
  }
}

/** The warning about a handler's return value. Each receiver and each worker logs it once. */
export function ignoredReturnWarning(returned: string): string {
  return (
    `a handler returned ${returned}, which is ignored: the delivery counts as handled. To refuse it throw` +
    " RetryLater, DiscardDelivery or any other error. If it is the response of a request, check its status"
  );
}

/** A fact is read from a user's objects, which may throw. */
function textOf(fact: Ending["fact"]): string | undefined {
  try {
    return fact?.();
  } catch {
    return undefined;
  }
}

/**
 * Makes the report of a request; `isLate` marks the second report of a delivery. A field that is not
 * known is left out, so a key that exists has a value.
 */
function createReport(
  trace: Trace,
  { outcome, error, sameRecord }: Ending,
  status: number,
  isLate = false,
): OutcomeReport {
  const { startedAt, bytes, id, type, secret, takeover, record } = trace;
  const eventType = type === "delete_my_data_event" ? eventTypeOf(record) : undefined;
  const { recovered, arrivedAtMs, timestampMs } = trace;
  const lag =
    record === undefined ? undefined : lagOf(record, recovered ? arrivedAtMs : timestampMs);
  const report: Draft<OutcomeReport> = {
    outcome,
    status,
    bytes,
    durationMs: performance.now() - startedAt,
  };
  if (id !== undefined) report.id = id;
  if (type !== undefined) report.type = type;
  if (eventType !== undefined) report.eventType = eventType;
  if (secret !== undefined) report.secretIndex = secret.index;
  if (takeover !== undefined) report.takeover = takeover;
  if (sameRecord !== undefined) report.sameRecord = sameRecord;
  if (recovered) report.recovered = true;
  if (!isLate && hasHungUp(trace)) report.disconnected = true;
  if (lag !== undefined) report.lagMs = lag.lagMs;
  if (lag?.attempt !== undefined && !recovered) report.attempt = lag.attempt;
  if (error !== undefined) report.error = error;
  if (isLate) report.late = true;
  return report;
}

/** After a line about a subject, further lines about it are held back for this long. */
const INTERVAL_MS = 60_000;
/** Number of subjects remembered. A forgotten subject gets a line too early, but never too late. */
const MAX_SUBJECTS = 1_000;

/**
 * Limits log lines to one a minute for each subject, which is an outcome or an outcome of one delivery
 * id. Senders can cause such lines at will.
 */
class LogRateLimit {
  readonly #last = new LRUCache<string, { at: number; heldBack: number }>({ max: MAX_SUBJECTS });

  /**
   * Undefined if a line about `subject` must be held back now; otherwise the number of lines that were
   * held back since the last one.
   */
  admit(subject: string): number | undefined {
    const now = performance.now();
    const known = this.#last.get(subject);
    if (known !== undefined && now - known.at < INTERVAL_MS) {
      known.heldBack += 1;
      return undefined;
    }
    this.#last.set(subject, { at: now, heldBack: 0 });
    return known?.heldBack ?? 0;
  }
}
