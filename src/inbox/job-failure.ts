import { GatewayWebhookError, hasCode } from "../common/errors.js";
import { DeadlineError } from "../common/timers.js";
import { RetryLater } from "../handling/handler-errors.js";
import { QueueError, wordsOf } from "./queue-error.js";

/**
 * What the engine stores about a failed run: the name, the code and the first words of the error, and the
 * lines of its stack. The rest of a message may quote the delivery, and engines keep the error longer than
 * the body.
 */
export class JobFailure extends GatewayWebhookError<"job_failed"> {
  /**
   * `thrown` is what the handler threw, which may be anything. The engine does not get it: engines act on
   * the names and messages of their own errors, and a handler that uses the same engine must not trigger
   * that by accident.
   */
  constructor(thrown: unknown) {
    super("job_failed", describe(thrown));
    this.stack = [this.message, ...framesOf(thrown)].join("\n");
  }
}

function describe(error: unknown): string {
  try {
    if (isOwn(error)) return `${error.name}: ${error.message}`;
    // Never the message alone: it may be exactly the text that an engine acts on.
    if (error instanceof RetryLater) return ["RetryLater", ...wordsOf(error)].join(": ");
    if (typeof error === "string") return ["thrown", ...wordsOf({ message: error })].join(": ");
    const words = wordsOf(error);
    return words[0] === "Error" || words.length > 1
      ? words.join(": ")
      : `thrown: ${words.join("")}`;
  } catch {
    return "an error that cannot be read";
  }
}

/** The library's own errors hold nothing of a delivery. */
function isOwn(error: unknown): error is Error {
  return (
    hasCode(error, "unreadable_job") ||
    error instanceof QueueError ||
    error instanceof DeadlineError
  );
}

/** The stack lines after the message. The message may contain line breaks of its own. */
function framesOf(error: unknown): string[] {
  try {
    if (!(error instanceof Error) || typeof error.stack !== "string") return [];
    const at = error.stack.indexOf(error.message);
    if (at === -1) return [];
    const lines = error.stack.slice(at + error.message.length).split("\n");
    return lines.filter((line) => /^ {4}at /.test(line));
  } catch {
    return [];
  }
}

/** The reason of `context.signal` when the worker is stopped. */
export function workerStopping(): GatewayWebhookError {
  return new GatewayWebhookError("worker_stopping", "the worker is stopping");
}

/** The reason of `context.signal` when another worker may be running the same job. */
export function jobLockLost(): GatewayWebhookError {
  const message = "the lock on the job is lost: another worker may be running it";
  return new GatewayWebhookError("job_lock_lost", message);
}
