import { DeadlineError } from "../common/timers.js";
import { RetryLater } from "../handling/handler-errors.js";
import { UnreadableJobError } from "./inbox-job.js";
import { QueueError, wordsOf } from "./queue-error.js";

/**
 * What the engine keeps of a failure: the name, the code and the first words of the error, and where it was
 * thrown. The rest of a message may quote the delivery, and engines keep it longer than the body.
 */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  /** Stable, so that code can branch on it. */
  readonly code = "job_failed";
  /** Milliseconds until the next run, where the handler named them. */
  readonly retryAfterMs: number | undefined;

  /**
   * Of what a handler threw, which may be anything: engines read `message` and `stack`, and some give
   * the names and messages of their own errors a meaning, which a handler that uses the same engine
   * must not trigger.
   */
  constructor(cause: unknown, retryAfterMs?: number) {
    super(describe(cause));
    this.retryAfterMs = retryAfterMs;
    this.stack = [this.message, ...framesOf(cause)].join("\n");
  }
}

function describe(error: unknown): string {
  try {
    if (isOwn(error)) return `${error.name}: ${error.message}`;
    // Never the message alone: it may be the very text that an engine looks for.
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

/** Errors of ours hold nothing of a delivery. */
function isOwn(error: unknown): error is Error {
  return (
    error instanceof UnreadableJobError ||
    error instanceof QueueError ||
    error instanceof DeadlineError
  );
}

/** The lines of the stack behind the message, which may have lines of its own. */
function framesOf(error: unknown): string[] {
  try {
    if (!(error instanceof Error) || typeof error.stack !== "string") return [];
    const at = error.stack.indexOf(error.message);
    if (at === -1) return [];
    const behind = error.stack.slice(at + error.message.length).split("\n");
    return behind.filter((line) => /^ {4}at /.test(line));
  } catch {
    return [];
  }
}
