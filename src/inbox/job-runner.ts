import { decode } from "../records/decode.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import { checkHandlers, type Handlers } from "../handling/handlers.js";
import type { Logger } from "../answer/logger.js";
import { createRoutes, type Route } from "../handling/routes.js";
import { ignoredWarning, runHandler } from "../handling/run-handler.js";
import {
  doneOutcomeOf,
  jobNameOf,
  readInboxJob,
  UnreadableJobError,
  UnrecognizedJobError,
  type QueuedDelivery,
} from "./inbox-job.js";
import type { InboxResult, InboxRun } from "./inbox-result.js";
import {
  checkOnJob,
  createReportJob,
  type DeadJobError,
  type Fate,
  type OnJob,
} from "./job-report.js";
import { createWorkerLog, type WorkerLog } from "./worker-log.js";

/** What a worker does with the jobs, whatever the engine. */
export interface InboxWorkerOptions {
  /** The handlers, typed and checked as those of a receiver; at least one. */
  handlers: Handlers;
  /**
   * Called once for each run of a job, when the engine has its result, and once for a job that the engine
   * gives up. Guarded: what it throws or rejects with changes nothing. Default: none.
   */
  onJob?: OnJob | undefined;
  /** Where warnings and errors go: default the console, `false` for nowhere. No line holds a body. */
  logger?: Logger | false | undefined;
}

/** One run whose handler has ended, and of which the engine does not know yet. */
export interface EndedRun {
  readonly result: InboxResult;
  readonly run: InboxRun;
  readonly id: string;
  readonly type: string | undefined;
  readonly durationMs: number;
}

/** A job that the engine gave up without the handler. */
export interface GivenUpJob {
  readonly id: string;
  readonly type: string | undefined;
  readonly attempts: number;
  readonly error: DeadJobError;
}

/** Runs jobs, and reports them once the engine has their result. Neither throws nor rejects. */
export interface JobRunner {
  readonly log: WorkerLog;
  readonly run: (data: unknown, run: InboxRun) => Promise<EndedRun>;
  readonly report: (ended: EndedRun, fate: Fate) => void;
  readonly reportGivenUp: (job: GivenUpJob) => void;
}

/** The bounds of `RetryLater`'s delay, as in an answer to the gateway: a second to a day. */
const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Makes the part of a worker that knows no engine. Throws `ConfigurationError` where an option cannot work. */
export function createJobRunner(
  { handlers, logger, onJob }: InboxWorkerOptions,
  replayAdvice: (id: string) => string,
): JobRunner {
  checkHandlers(handlers);
  checkOnJob(onJob);
  const log = createWorkerLog(logger);
  const reportJob = createReportJob(log, onJob, replayAdvice);
  const findRoute = createRoutes(handlers);
  const warnedOf = new Set<string>();

  const warnOnce = (line: string): void => {
    if (warnedOf.has(line)) return;
    warnedOf.add(line);
    log("warn", line);
  };

  const routeOf = async ({ rawBody, type }: QueuedDelivery): Promise<Route> => {
    const decoded = await decode(rawBody, type);
    // The receiver refuses such a delivery, so only a stranger can have put it here.
    if (decoded.kind === "type_mismatch") throw new UnreadableJobError("a body of its type");
    return findRoute(decoded, type);
  };

  const perform = async (delivery: QueuedDelivery, run: InboxRun): Promise<InboxResult> => {
    const route = await routeOf(delivery);
    if (route.kind === "unhandled") {
      warnOnce(`unhandled: no handler is given for ${route.what}, whose jobs are completed`);
      return { outcome: "unhandled" };
    }
    if (route.kind === "unrecognized") {
      return { outcome: "unrecognized", error: new UnrecognizedJobError(route.advice) };
    }
    const { signal, takeover } = run;
    const context: DeliveryContext = { ...delivery, signal, takeover };
    const result = await runHandler(route, context);
    if (result.outcome === "handled") {
      if (result.ignored !== undefined) warnOnce(ignoredWarning(result.ignored));
      return { outcome: "handled" };
    }
    if (result.outcome !== "retry_later") return result;
    return { ...result, retryAfterMs: usableDelay(result.retryAfterMs) };
  };

  const resultOf = async (data: unknown, run: InboxRun): Promise<InboxResult> => {
    const done = doneOutcomeOf(data);
    if (done === "handled") return { outcome: "handled" };
    if (done === "discarded") return { outcome: "discarded", error: undefined };
    try {
      return await perform(readInboxJob(data), run);
    } catch (error) {
      const isForeign = error instanceof UnreadableJobError;
      return { outcome: isForeign ? "malformed" : "handler_failed", error };
    }
  };

  return {
    log,
    async run(data, run) {
      const startedAt = performance.now();
      const result = await resultOf(data, run);
      const durationMs = performance.now() - startedAt;
      const { id = run.jobId, type } = jobNameOf(data);
      return { result, run, id, type, durationMs };
    },
    report({ result, run, id, type, durationMs }, fate) {
      const { attempt, lastAttempt, waitedMs, takeover } = run;
      reportJob(result.outcome, fate, {
        ...{ attempt, lastAttempt, id, type, durationMs, waitedMs },
        ...(takeover ? { takeover } : {}),
        ...("error" in result && result.error !== undefined ? { error: result.error } : {}),
      });
    },
    reportGivenUp({ id, type, attempts, error }) {
      reportJob("lost", "dead", {
        ...{ attempt: attempts, lastAttempt: true, id, type, durationMs: 0, waitedMs: 0 },
        ...{ takeover: true, error },
      });
    },
  };
}

function usableDelay(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms)) return undefined;
  return Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
}
