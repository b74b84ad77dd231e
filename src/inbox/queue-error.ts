import { DeadlineError } from "../deadline.js";

/**
 * Why a queue did not do what it was asked. It goes to logs and reports, so it holds no part of a job,
 * neither in its message nor as a cause.
 */
export class QueueError extends Error {
  override readonly name = "QueueError";
  /** The engine's own code, such as `ECONNREFUSED` or `42P01`. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** Longer than the sentences of engines. */
const MAX_LENGTH = 200;
/** Words up to the first digit, quotation mark, colon or bracket: what engines quote comes after one. */
const FIRST_WORDS = /^[A-Za-z]+(?:(?:[ ,.-]+|')[A-Za-z]+)*/;
const NAME = /^[A-Za-z]{0,60}(?:Error|Exception)$/;
const CODE = /^[A-Z][A-Z_]{1,39}$|^[0-9A-Z]{5}$/;

/**
 * Makes of anything that an engine threw what may be logged: its name, its code and its first words. All
 * else may quote what the engine was given: ioredis keeps the command, PostgreSQL the failing row, and
 * query builders put the parameters into the message.
 */
export function queueErrorOf(what: string, error: unknown): Error {
  if (error instanceof QueueError || error instanceof DeadlineError) return error;
  const { name, code, message } = read(error);
  const codeText = matchOf(CODE, code);
  const words = matchOf(FIRST_WORDS, message);
  const known = [matchOf(NAME, name), codeText, words].filter((text) => text !== undefined);
  return new QueueError([what, ...known].join(": "), codeText);
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
