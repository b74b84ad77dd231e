import type { Log } from "../answer/logger.js";
import { ignoredReturnWarning } from "../answer/reporter.js";
import { GatewayWebhookError, hasCode } from "../common/errors.js";
import { within } from "../common/timers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { checkHandlers, type HandlerCall, type WebhookHandlers } from "../handling/handlers.js";
import { Routes } from "../handling/routes.js";
import { runHandler } from "../handling/run-handler.js";
import { decode } from "../records/decode.js";
import type { Observation, Observer } from "../telemetry/observation.js";
import type { JobReport } from "../telemetry/telemetry.js";
import type { HeldMessage } from "./held-message.js";
import {
  isRecoveredJob,
  jobNameOf,
  readInboxJob,
  unreadableJob,
  type QueuedDelivery,
} from "./inbox-job.js";
import type { JobHandling } from "./job-handling.js";
import type { EngineResponse, JobReporter } from "./job-report.js";
import { resultOf, settlementOf, type Retries, type RunResult } from "./job-settlement.js";
import { isInOverflow, removeBody, withBody, type InboxOverflow } from "./overflow.js";
import type { QueueMessage, QueueSettlement } from "./queue-driver.js";
import { queueErrorOf } from "./queue-error.js";
import { MAX_CRASHES, SETTLE_TIMEOUT_MS } from "./queue-options.js";

/** What the runs of a worker share. */
export interface RunTools {
  readonly handlers: WebhookHandlers;
  readonly handling: JobHandling;
  readonly reporter: JobReporter;
  readonly observer: Observer;
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
    const { observer, reporter, retries } = this.#tools;
    const waitedMs = Math.max(0, Date.now() - (message.enqueuedAt?.getTime() ?? Date.now()));
    const startedAt = performance.now();
    const observation = observer.begin();
    const maxAttempts = Math.min(retries.retryLimit + 1, message.maxAttempts ?? Infinity);
    // A run of the last attempt that ended by itself has settled, so those beyond it have not.
    const crashes = message.crashes ?? message.attempt - maxAttempts;
    const result = await this.#resultOf(held, observation, crashes > MAX_CRASHES);
    const durationMs = performance.now() - startedAt;
    await held.end();
    const { ending, error, takeover, isCutOff = false } = result;
    const isOver = message.attempt >= maxAttempts && !isCutOff;
    const lastAttempt = isOver || ending === "given_up";
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
    if (settlement.result === "done" && response === "accepted") await this.#removeBody(message);
    if (ending === "skipped" || ending === "postponed") return;
    reporter.report(ending, response, observation, facts);
  }

  /** The body of a job that has ended leaves its bucket. */
  async #removeBody({ data, id: messageId }: QueueMessage): Promise<void> {
    const { overflow, log } = this.#tools;
    if (overflow?.delete === undefined || !isInOverflow(data)) return;
    const { id = messageId, type } = jobNameOf(data);
    try {
      await removeBody(overflow, id);
    } catch (thrown) {
      const line = "the body of a job that has ended stays in overflow";
      log.error(line, { id, type, error: queueErrorOf("overflow.delete", thrown) });
    }
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

  async #resultOf(
    held: HeldMessage,
    observation: Observation | undefined,
    isGivenUp: boolean,
  ): Promise<RunResult> {
    try {
      return await (isGivenUp ? this.#giveUp(held) : this.#handle(held, observation));
    } catch (error) {
      const isForeign = hasCode(error, "unreadable_job");
      return { ending: isForeign ? "malformed" : "handler_failed", error };
    }
  }

  async #handle(held: HeldMessage, observation: Observation | undefined): Promise<RunResult> {
    const { message } = held;
    const { overflow } = this.#tools;
    const queued = readInboxJob(message.data);
    let delivery: QueuedDelivery;
    try {
      delivery = await withBody(queued, overflow);
    } catch (error) {
      // A copy of the job may have been handled, and has taken the body with it.
      const handler = () => Promise.reject(error);
      return this.#claim(queued, held, { handler, record: undefined });
    }
    const { headers, rawBody } = delivery;
    const decoded = decode(rawBody, headers.type);
    // The receiver refuses such a delivery, so the inbox cannot have put it into the queue.
    if (decoded.kind === "type_mismatch") throw unreadableJob("a body of its type");
    const route = this.#routes.find(decoded, headers.type);
    if (route.kind === "unhandled") {
      this.#warnOnce(
        `unhandled: no handler is given for ${route.what}, so its jobs are completed without one`,
      );
      // A worker may take some event types and leave others out, but a whole webhook type is an alert.
      return { ending: route.what === headers.type ? "unhandled" : "discarded" };
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
    return this.#claim(delivery, held, { handler, record: route.record });
  }

  /** Ends a job that kills its workers. Another worker may have handled it after all, so the store is asked. */
  async #giveUp(held: HeldMessage): Promise<RunResult> {
    const error = new GatewayWebhookError("dead_job", "its workers crashed too often");
    const handler = () => Promise.reject(error);
    // The body is not read: reading it may be what kills them.
    const delivery = readInboxJob(held.message.data);
    const result = await this.#claim(delivery, held, { handler, record: undefined });
    return result.error === error
      ? { ending: "given_up", error, takeover: result.takeover === true }
      : result;
  }

  /** Claims a delivery, and calls its handler if no one else has it or had it. */
  async #claim(delivery: QueuedDelivery, held: HeldMessage, call: HandlerCall): Promise<RunResult> {
    const { handling, log } = this.#tools;
    const { id, type } = delivery.headers;
    const handled = await handling.handle(delivery, held, call);
    const result = resultOf(handled, held.isCutOff);
    if (result !== undefined) return result;
    const { outcome, error } = handled;
    log.error(`${outcome}: the job cannot run now, and runs again later`, { id, type, error });
    return { ending: "postponed" };
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
