import type { Log } from "../answer/logger.js";
import { ignoredReturnWarning } from "../answer/reporter.js";
import { clampRetryAfterMs } from "../answer/retry-after.js";
import { GatewayWebhookError, hasCode } from "../common/errors.js";
import { within } from "../common/timers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { checkHandlers, type WebhookHandlers } from "../handling/handlers.js";
import { Routes } from "../handling/routes.js";
import { runHandler } from "../handling/run-handler.js";
import { decode } from "../records/decode.js";
import type { Observation, Observers } from "../telemetry/observation.js";
import type { JobReport } from "../telemetry/telemetry.js";
import type { HeldMessage } from "./held-message.js";
import { isRecoveredJob, jobNameOf, readInboxJob, unreadableJob } from "./inbox-job.js";
import type { JobHandling } from "./job-handling.js";
import type { EngineResponse, JobReporter } from "./job-report.js";
import { settlementOf, type Retries, type RunResult } from "./job-settlement.js";
import { withBody, type InboxOverflow } from "./overflow.js";
import type { QueueMessage, QueueSettlement } from "./queue-driver.js";
import { queueErrorOf } from "./queue-error.js";
import { SETTLE_TIMEOUT_MS } from "./queue-options.js";

/** What the runs of a worker share. */
export interface RunTools {
  readonly handlers: WebhookHandlers;
  readonly handling: JobHandling;
  readonly reporter: JobReporter;
  readonly observers: Observers;
  readonly overflow: InboxOverflow | undefined;
  readonly queueName: string | undefined;
  readonly retries: Retries;
  readonly log: Log;
}

/** Runs the jobs of a worker: handler, completion in the store, settlement in the queue, report. */
export class JobRuns {
  readonly #tools: RunTools;
  readonly #routes: Routes;
  readonly #warnings = new Set<string>();

  /** Throws `ConfigurationError` for handlers that could never be called. */
  constructor(tools: RunTools) {
    checkHandlers(tools.handlers);
    this.#tools = tools;
    this.#routes = new Routes(tools.handlers);
  }

  /** Runs one message and settles it. Never rejects. */
  async run(held: HeldMessage): Promise<void> {
    const { message } = held;
    const { observers, reporter, retries } = this.#tools;
    const waitedMs = Math.max(0, Date.now() - (message.enqueuedAt?.getTime() ?? Date.now()));
    const startedAt = performance.now();
    const observation = observers.begin();
    const result = await this.#resultOf(held, observation);
    const durationMs = performance.now() - startedAt;
    await held.end();
    const maxAttempts = Math.min(retries.retryLimit + 1, message.maxAttempts ?? Infinity);
    const { ending, error, takeover, isCutOff = false } = result;
    const lastAttempt = message.attempt >= maxAttempts && !isCutOff;
    const { id = message.id, type } = jobNameOf(message.data);
    const facts: Omit<JobReport, "outcome"> = {
      attempt: message.attempt,
      lastAttempt,
      id,
      type,
      durationMs,
      waitedMs,
      ...(takeover === true ? { takeover } : {}),
      ...(isRecoveredJob(message.data) ? { recovered: true } : {}),
      ...(error === undefined ? {} : { error }),
    };
    const settlement = settlementOf(result, message, lastAttempt, retries);
    const response = await this.#settle(held, settlement, () => {
      // The queue has taken it after all, and no one else would tell of it.
      if (ending !== "skipped" && ending !== "postponed" && settlement.result === "dead") {
        reporter.report(ending, "dead", undefined, facts);
      }
    });
    if (ending === "skipped" || ending === "postponed") return;
    reporter.report(ending, response, observation, facts);
  }

  async #settle(
    held: HeldMessage,
    settlement: QueueSettlement,
    onLate: () => void,
  ): Promise<EngineResponse> {
    // Another worker may have it by now: this one must not bury or delay its run.
    if (held.isLost && settlement.result !== "done") return "refused";
    const { message } = held;
    try {
      const settling = (async () => message.settle(settlement))();
      const late = (isTaken: boolean) => isTaken && onLate();
      if (!(await within(SETTLE_TIMEOUT_MS, "settle", settling, late))) return "refused";
      return settlement.result === "dead" ? "dead" : "accepted";
    } catch (thrown) {
      const { id = message.id, type } = jobNameOf(message.data);
      const line = "the queue did not take the result of a job: it may come again";
      this.#tools.log.error(line, { id, type, error: queueErrorOf("settle", thrown) });
      return "refused";
    }
  }

  async #resultOf(held: HeldMessage, observation: Observation | undefined): Promise<RunResult> {
    try {
      return await this.#handle(held, observation);
    } catch (error) {
      const isForeign = hasCode(error, "unreadable_job");
      return { ending: isForeign ? "malformed" : "handler_failed", error };
    }
  }

  async #handle(held: HeldMessage, observation: Observation | undefined): Promise<RunResult> {
    const { handling, overflow, log } = this.#tools;
    const { message } = held;
    const delivery = await withBody(readInboxJob(message.data), overflow);
    const { id, type, rawBody } = delivery;
    const decoded = await decode(rawBody, type);
    // The receiver refuses such a delivery, so the inbox cannot have put it into the queue.
    if (decoded.kind === "type_mismatch") throw unreadableJob("a body of its type");
    const route = this.#routes.find(decoded, type);
    if (route.kind === "unhandled") {
      this.#warnOnce(
        `unhandled: there is no handler for ${route.what}, so its jobs are completed without one`,
      );
      return { ending: "unhandled" };
    }
    if (route.kind === "unrecognized") {
      const error = new GatewayWebhookError("unrecognized_job", route.advice);
      return { ending: "unrecognized", error };
    }
    const handler = async (record: unknown, context: DeliveryContext): Promise<void> => {
      const call = async () => runHandler({ handler: route.handler, record }, context);
      const result = await this.#observed(message, context, delivery.carrier, observation, call);
      if (result.outcome !== "handled") throw result.error;
      if (result.ignored !== undefined) this.#warnOnce(ignoredReturnWarning(result.ignored));
    };
    const handled = await handling.handle(delivery, held, { handler, record: route.record });
    const { outcome, error, retryAfterMs, takeover, hasRun } = handled;
    switch (outcome) {
      case "duplicate":
        return { ending: "skipped" };
      case "handled":
      case "discarded":
        // The store has not taken the completion, and the message is lost: another run may begin.
        return handled.unfinished === undefined
          ? { ending: outcome, error, takeover }
          : { ending: "postponed" };
      case "retry_later":
        return { ending: outcome, error, takeover, retryAfterMs: clampRetryAfterMs(retryAfterMs) };
      case "handler_failed":
      case "handler_timeout":
        return { ending: "handler_failed", error, takeover, isCutOff: held.isCutOff };
      case "in_flight":
        return { ending: "postponed", retryAfterMs: clampRetryAfterMs(retryAfterMs) };
      default:
        if (hasRun) return { ending: "handler_failed", error, takeover, isCutOff: held.isCutOff };
        log.error(`${outcome}: the job cannot run now, and runs again later`, { id, type, error });
        return { ending: "postponed" };
    }
  }

  #observed<Result>(
    { attempt }: QueueMessage,
    { id, type, takeover, recovered }: DeliveryContext,
    carrier: object,
    observation: Observation | undefined,
    call: () => Result,
  ): Result {
    if (observation === undefined) return call();
    const { queueName } = this.#tools;
    const marks = recovered === true ? { recovered } : {};
    const work = {
      kind: "job",
      queueName,
      id,
      type,
      attempt,
      takeover,
      ...marks,
      carrier,
    } as const;
    return observation.run(work, call);
  }

  #warnOnce(line: string): void {
    if (this.#warnings.has(line)) return;
    this.#warnings.add(line);
    this.#tools.log.warn(line);
  }
}
