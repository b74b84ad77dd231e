import { decode } from "../decode.js";
import type { DeliveryContext } from "../delivery-context.js";
import type { RetryLater } from "../handler-errors.js";
import { checkHandlers, type Handlers } from "../handlers.js";
import type { Logger } from "../logger.js";
import { createRoutes, type Route } from "../routes.js";
import { runHandler } from "../run-handler.js";
import { readInboxJob, UnreadableJobError, type QueuedDelivery } from "./inbox-job.js";
import { createWorkerLog, type WorkerLog } from "./worker-log.js";

/** What the engine knows of this run of a job. */
export interface InboxRun {
  /** Aborts when the worker is stopped, or the engine may give the job to another one. */
  readonly signal: AbortSignal;
  /** Whether an earlier run ended without a verdict, as in a crash. */
  readonly takeover: boolean;
}

/** How a run ended; the engine's verdict follows from it. */
export type InboxResult =
  /** Done with. `unhandled`: no handler is given for this type. */
  | { readonly outcome: "handled" | "unhandled" }
  /** Done with: the handler threw `DiscardDelivery`. */
  | { readonly outcome: "discarded"; readonly error: unknown }
  /** To be tried again, in `retryAfterMs` where it is given, in the engine's own time otherwise. */
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    }
  /** To be tried again in the engine's own time. `malformed`: no job of ours. */
  | { readonly outcome: "handler_failed" | "unrecognized" | "malformed"; readonly error: unknown };

/** A result after which the job is not done with. */
export type FailedResult = Extract<
  InboxResult,
  { outcome: "retry_later" | "handler_failed" | "unrecognized" | "malformed" }
>;

/** What a worker does with the jobs, whatever the engine. */
export interface InboxWorkerOptions {
  /** The handlers, typed and checked as those of a receiver; at least one. */
  handlers: Handlers;
  /** Where warnings and errors go: default `console`, `false` for nowhere. No line holds a body. */
  logger?: Logger | false | undefined;
}

/** Runs the handler of what an engine hands out. Never rejects. Default run: no signal, no takeover. */
export type InboxWorker = (data: unknown, run?: Partial<InboxRun>) => Promise<InboxResult>;

/** The bounds of `RetryLater`'s delay, as in an answer to the gateway: a second to a day. */
const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Whether the engine is to run the job again. */
export function hasFailed(result: InboxResult): result is FailedResult {
  const { outcome } = result;
  return outcome !== "handled" && outcome !== "unhandled" && outcome !== "discarded";
}

/**
 * Makes the part of a worker that knows no engine: it reads a job, decodes the body as a receiver does
 * and runs the same typed handlers. The bindings are made of it; alone it is for an engine of your own,
 * which has to run a failed job again and to dead-letter it in the end.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function inboxWorker({ handlers, logger }: InboxWorkerOptions): InboxWorker {
  checkHandlers(handlers);
  const log = createWorkerLog(logger);
  const findRoute = createRoutes(handlers);
  const warnedOf = new Set<string>();

  const warnUnhandled = (what: string): void => {
    if (warnedOf.has(what)) return;
    warnedOf.add(what);
    log("warn", `unhandled: no handler is given for ${what}, whose jobs are completed`);
  };

  const routeOf = ({ rawBody, type }: QueuedDelivery): Route => {
    const decoded = decode(rawBody, type);
    // The receiver refuses such a delivery, so nobody but a stranger can have put it here.
    if (decoded.kind === "type_mismatch") throw new UnreadableJobError("a body of its type");
    return findRoute(decoded, type);
  };

  const perform = async (delivery: QueuedDelivery, run: InboxRun): Promise<InboxResult> => {
    const route = routeOf(delivery);
    if (route.kind === "unhandled") {
      warnUnhandled(route.what);
      return { outcome: "unhandled" };
    }
    if (route.kind === "unrecognized") {
      return { outcome: "unrecognized", error: new Error(route.advice) };
    }
    const { signal, takeover } = run;
    const context: DeliveryContext = { ...delivery, signal, takeover };
    const result = await runHandler(route, context);
    if (result.outcome !== "retry_later") return result;
    return { ...result, retryAfterMs: usableDelay(result.retryAfterMs) };
  };

  return async (data, { signal = new AbortController().signal, takeover = false } = {}) => {
    let delivery: QueuedDelivery | undefined;
    let result: InboxResult;
    try {
      delivery = readInboxJob(data);
      result = await perform(delivery, { signal, takeover });
    } catch (error) {
      const isForeign = error instanceof UnreadableJobError;
      result = { outcome: isForeign ? "malformed" : "handler_failed", error };
    }
    logResult(log, result, delivery, takeover);
    return result;
  };
}

function usableDelay(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms)) return undefined;
  return Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
}

const LINES = {
  discarded: "The handler discarded the delivery for good.",
  retry_later: "The handler asked for the delivery again later.",
  handler_failed: "The handler failed; the engine tries the job again.",
  unrecognized: "The body is not as documented; the engine tries the job again.",
  malformed: "What is in the queue is no job of the inbox; the engine tries it again.",
} as const;

function logResult(
  log: WorkerLog,
  result: InboxResult,
  delivery: QueuedDelivery | undefined,
  takeover: boolean,
): void {
  if (!("error" in result)) return;
  const { outcome, error } = result;
  const isExpected = outcome === "discarded" || outcome === "retry_later";
  log(isExpected ? "warn" : "error", `${outcome}: ${LINES[outcome]}`, {
    ...(delivery === undefined ? {} : { id: delivery.id, type: delivery.type }),
    ...(takeover ? { takeover } : {}),
    error,
  });
}
