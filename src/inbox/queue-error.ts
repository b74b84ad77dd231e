import { GatewayWebhookError, brandErrors } from "../common/errors.js";
import { DeadlineError } from "../common/timers.js";

/**
 * A queue refused or failed an operation. Logs and reports show it, so neither its message nor its cause
 * holds any part of a job.
 */
export class QueueError extends GatewayWebhookError<"queue_failed"> {
  static {
    brandErrors(this, "QueueError");
  }

  constructor(
    message: string,
    /** The engine's own code, such as `ECONNREFUSED` or `42P01`. */
    readonly engineCode?: string,
  ) {
    super("queue_failed", message);
  }
}

/** Longer messages of engines are cut. */
const MAX_LENGTH = 200;
/** Words up to the first digit, quotation mark, colon or bracket. Quoted data comes after one of these. */
const FIRST_WORDS = /^[A-Za-z]+(?:(?:[ ,.-]+|')[A-Za-z]+)*/;
const NAME = /^[A-Za-z]{0,60}(?:Error|Exception)$/;
const CODE = /^[A-Z][A-Z_]{1,39}$|^[0-9A-Z]{5}$/;
/** Includes the library's own names that do not end in `Error`. */
const NAME_OR_CODE =
  /^(?:[A-Za-z]{0,60}(?:Error|Exception)|RetryLater|DiscardDelivery|thrown|[A-Z][A-Z_]{1,39}|[0-9A-Z]{5})$/;

/**
 * Reduces anything that an engine threw to what may be logged: its name, its code and its first words. The
 * rest may quote the job: ioredis keeps the command, PostgreSQL the failing row, and query builders put
 * the parameters into the message.
 */
export function queueErrorOf(what: string, error: unknown): Error {
  if (error instanceof QueueError || error instanceof DeadlineError) return error;
  return new QueueError([what, ...wordsOf(error)].join(": "), matchOf(CODE, read(error)["code"]));
}

/** The parts of an error that cannot quote a body: its name, its code and its first words. */
export function wordsOf(error: unknown): string[] {
  const { name, code, message } = read(error);
  const parts = [matchOf(NAME, name), matchOf(CODE, code), matchOf(FIRST_WORDS, message)];
  return parts.filter((text) => text !== undefined);
}

/** As `wordsOf`, for an error text that an engine has stored. Text made by `wordsOf` stays whole. */
export function wordsOfText(text: unknown): string {
  const parts: string[] = [];
  for (const part of typeof text === "string" ? text.slice(0, MAX_LENGTH).split(": ") : []) {
    const known = [NAME_OR_CODE, FIRST_WORDS].map((pattern) => matchOf(pattern, part));
    const words = known.find((match) => match !== undefined);
    if (words === undefined) break;
    parts.push(words);
    // Only a name or a code may be followed by more: after first words, the text may quote data.
    if (known[0] === undefined) break;
  }
  return parts.join(": ");
}

function read(error: unknown): Record<string, unknown> {
  try {
    const { name, code, message } = Object(error) as Record<string, unknown>;
    return { name, code, message };
  } catch {
    return {};
  }
}

function matchOf(pattern: RegExp, text: unknown): string | undefined {
  return typeof text === "string" ? pattern.exec(text.slice(0, MAX_LENGTH))?.[0] : undefined;
}

/** Clients report each failed attempt to connect. The same error is logged once per minute. */
const SAME_ERROR_MS = 60_000;
const MOST_MESSAGES = 100;

/** Tells new errors from repetitions. Remembers the latest 100 messages. */
export class RepetitionFilter {
  readonly #loggedAt = new Map<string, number>();

  /** False for the same message within a minute. */
  isNew({ message }: Error): boolean {
    const now = performance.now();
    if (now - (this.#loggedAt.get(message) ?? -Infinity) < SAME_ERROR_MS) return false;
    this.#loggedAt.delete(message);
    this.#loggedAt.set(message, now);
    const [oldest = ""] = this.#loggedAt.keys();
    if (this.#loggedAt.size > MOST_MESSAGES) this.#loggedAt.delete(oldest);
    return true;
  }
}
