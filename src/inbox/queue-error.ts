import { DeadlineError } from "../common/timers.js";

/**
 * Why a queue did not do what it was asked. It goes to logs and reports, so it holds no part of a job,
 * neither in its message nor as a cause.
 */
export class QueueError extends Error {
  override readonly name = "QueueError";
  /** Stable, so that code can branch on it. */
  readonly code = "queue_failed";
  /** The engine's own code, such as `ECONNREFUSED` or `42P01`. */
  readonly engineCode: string | undefined;

  constructor(message: string, engineCode?: string) {
    super(message);
    this.engineCode = engineCode;
  }
}

/** Longer than the sentences of engines. */
const MAX_LENGTH = 200;
/** Words up to the first digit, quotation mark, colon or bracket: what engines quote comes after one. */
const FIRST_WORDS = /^[A-Za-z]+(?:(?:[ ,.-]+|')[A-Za-z]+)*/;
const NAME = /^[A-Za-z]{0,60}(?:Error|Exception)$/;
const CODE = /^[A-Z][A-Z_]{1,39}$|^[0-9A-Z]{5}$/;
/** Also the names of ours, which end otherwise. */
const NAME_OR_CODE =
  /^(?:[A-Za-z]{0,60}(?:Error|Exception)|RetryLater|DiscardDelivery|thrown|[A-Z][A-Z_]{1,39}|[0-9A-Z]{5})$/;

/**
 * Makes of anything that an engine threw what may be logged: its name, its code and its first words. All
 * else may quote what the engine was given: ioredis keeps the command, PostgreSQL the failing row, and
 * query builders put the parameters into the message.
 */
export function queueErrorOf(what: string, error: unknown): Error {
  if (error instanceof QueueError || error instanceof DeadlineError) return error;
  return new QueueError([what, ...wordsOf(error)].join(": "), matchOf(CODE, read(error)["code"]));
}

/** What may be kept of an error that may quote a body: its name, its code and its first words. */
export function wordsOf(error: unknown): string[] {
  const { name, code, message } = read(error);
  const parts = [matchOf(NAME, name), matchOf(CODE, code), matchOf(FIRST_WORDS, message)];
  return parts.filter((text) => text !== undefined);
}

/** The same of a text that an engine keeps of an error: what `wordsOf` has written is kept whole. */
export function wordsOfText(text: unknown): string {
  const parts: string[] = [];
  for (const part of typeof text === "string" ? text.slice(0, MAX_LENGTH).split(": ") : []) {
    const known = [NAME_OR_CODE, FIRST_WORDS].map((pattern) => matchOf(pattern, part));
    const words = known.find((match) => match !== undefined);
    if (words === undefined) break;
    parts.push(words);
    // What follows the first words may be quoted.
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
