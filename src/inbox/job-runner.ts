import { GatewayWebhookError, hasCode, invalidOption } from "../common/errors.js";
import { decode } from "../records/decode.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { checkHandlers, type WebhookHandlers } from "../handling/handlers.js";
import { consoleLines, Log, loggerFault, type WebhookLogger } from "../answer/logger.js";
import { Routes, type Route } from "../handling/routes.js";
import { ignoredReturnWarning } from "../answer/reporter.js";
import { clampRetryAfterMs } from "../answer/retry-after.js";
import { runHandler } from "../handling/run-handler.js";
import { Observers, type Observation } from "../telemetry/observation.js";
import type { WebhookTelemetry } from "../telemetry/telemetry.js";
import {
  finishedOutcomeOf,
  isRecoveredJob,
  jobNameOf,
  readInboxJob,
  type QueuedDelivery,
  unreadableJob,
} from "./inbox-job.js";
import type { InboxResult, InboxRun } from "./inbox-result.js";
import { JobReporter, type EngineResponse, type OnJob } from "./job-report.js";
import { wordsOfText } from "./queue-error.js";

/** Options of every worker, whichever the engine. */
export interface InboxWorkerOptions {
  /** The handlers, at least one. They are typed and checked as those of a receiver. */
  handlers: WebhookHandlers;
  /**
   * Called once for each run of a job, after the engine has its result, and once for each job that the
   * engine gives up. Its errors and rejections are ignored. Default: none.
   */
  onJob?: OnJob | undefined;
  /**
   * Sees each run of a job, and runs around its handler: `openTelemetry()` of `/opentelemetry`, or your own.
   * Default: none. Without it, Node's tracing channel `identity-gateway-webhooks:job` tells its subscribers
   * the same.
   */
  telemetry?: WebhookTelemetry | undefined;
  /** Where warnings and errors go; `false` for nowhere. Default: the console. No line holds a body. */
  logger?: WebhookLogger | false | undefined;
}

/** The names of `InboxWorkerOptions`. */
export const WORKER_OPTION_NAMES = ["handlers", "onJob", "logger", "telemetry"];

/** A run whose handler has ended, and whose result the engine does not have yet. */
export interface EndedRun {
  readonly result: InboxResult;
  readonly run: InboxRun;
  readonly id: string;
  readonly type: string | undefined;
  readonly recovered: boolean;
  readonly durationMs: number;
  readonly observation: Observation | undefined;
}

/**
 * The part that all workers share: it runs the handler of a job, and reports the run once the engine has
 * its result. No method throws or rejects.
 */
export class JobRunner {
  readonly log: Log;
  readonly #reporter: JobReporter;
  readonly #routes: Routes;
  readonly #observers: Observers;
  readonly #queueName: string | undefined;
  readonly #warnings = new Set<string>();

  /**
   * `replayAdvice` says how to run a dead job again. Throws `ConfigurationError` if an option is
   * invalid.
   */
  constructor(
    { handlers, logger = consoleLines, onJob, telemetry }: InboxWorkerOptions,
    replayAdvice: (id: string) => string,
    queueName?: string,
  ) {
    checkHandlers(handlers);
    const fault = logger === false ? undefined : loggerFault(logger);
    if (fault !== undefined) throw invalidOption(fault);
    this.log = new Log(logger);
    this.#reporter = new JobReporter(this.log, onJob, replayAdvice);
    this.#routes = new Routes(handlers);
    this.#observers = new Observers("job", telemetry, this.log);
    this.#queueName = queueName;
  }

  /** Runs the handler for the data of a job. */
  async run(data: unknown, run: InboxRun): Promise<EndedRun> {
    const startedAt = performance.now();
    const observation = this.#observers.begin();
    const result = await this.#resultOf(data, run, observation);
    const durationMs = performance.now() - startedAt;
    const { id = run.jobId, type } = jobNameOf(data);
    return { result, run, id, type, recovered: isRecoveredJob(data), durationMs, observation };
  }

  /** Reports a run, now that the engine has responded to its result. */
  report(ended: EndedRun, response: EngineResponse): void {
    const { result, run, id, type, recovered, durationMs, observation } = ended;
    const { attempt, lastAttempt, waitedMs, takeover } = run;
    this.#reporter.report(result.outcome, response, observation, {
      attempt,
      lastAttempt,
      id,
      type,
      durationMs,
      waitedMs,
      ...(takeover ? { takeover } : {}),
      ...(recovered ? { recovered } : {}),
      ...("error" in result && result.error !== undefined ? { error: result.error } : {}),
    });
  }

  /**
   * Reports a job that the engine gave up although no handler of this process failed. `data`: of the job, or
   * what names its delivery. `reason`: the text that the engine has stored of its last error.
   */
  reportGivenUp(data: unknown, jobId: string, attempts: number, reason: unknown): void {
    const { id = jobId, type } = jobNameOf(data);
    const message = wordsOfText(reason) || "the engine gave up the job";
    this.#reporter.report("given_up", "dead", this.#observers.begin(), {
      attempt: attempts,
      lastAttempt: true,
      id,
      type,
      durationMs: 0,
      waitedMs: 0,
      takeover: true,
      error: new GatewayWebhookError("dead_job", message),
    });
  }

  async #resultOf(
    data: unknown,
    run: InboxRun,
    observation: Observation | undefined,
  ): Promise<InboxResult> {
    const finished = finishedOutcomeOf(data);
    if (finished === "handled") return { outcome: "handled" };
    if (finished === "discarded") return { outcome: "discarded", error: undefined };
    try {
      return await this.#handle(readInboxJob(data), run, observation);
    } catch (error) {
      const isForeign = hasCode(error, "unreadable_job");
      return { outcome: isForeign ? "malformed" : "handler_failed", error };
    }
  }

  async #handle(
    { carrier, ...delivery }: QueuedDelivery,
    { signal, takeover, attempt }: InboxRun,
    observation: Observation | undefined,
  ): Promise<InboxResult> {
    const route = await this.#routeOf(delivery);
    if (route.kind === "unhandled") {
      this.#warnOnce(
        `unhandled: there is no handler for ${route.what}, so its jobs are completed without one`,
      );
      return { outcome: "unhandled" };
    }
    if (route.kind === "unrecognized") {
      return {
        outcome: "unrecognized",
        error: new GatewayWebhookError("unrecognized_job", route.advice),
      };
    }
    const context: DeliveryContext = { ...delivery, signal, takeover };
    const call = () => runHandler(route, context);
    const { id, type, recovered } = delivery;
    const work = {
      kind: "job",
      queueName: this.#queueName,
      id,
      type,
      attempt,
      takeover,
      ...(recovered === true ? { recovered } : {}),
      carrier,
    } as const;
    const result = await (observation === undefined ? call() : observation.run(work, call));
    if (result.outcome === "handled") {
      if (result.ignored !== undefined) this.#warnOnce(ignoredReturnWarning(result.ignored));
      return { outcome: "handled" };
    }
    if (result.outcome !== "retry_later") return result;
    return { ...result, retryAfterMs: clampRetryAfterMs(result.retryAfterMs) };
  }

  async #routeOf({ rawBody, type }: Pick<QueuedDelivery, "rawBody" | "type">): Promise<Route> {
    const decoded = await decode(rawBody, type);
    // The receiver refuses such a delivery, so the inbox cannot have put it into the queue.
    if (decoded.kind === "type_mismatch") throw unreadableJob("a body of its type");
    return this.#routes.find(decoded, type);
  }

  #warnOnce(line: string): void {
    if (this.#warnings.has(line)) return;
    this.#warnings.add(line);
    this.log.warn(line);
  }
}
