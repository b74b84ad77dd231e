import { invalidOption } from "../common/errors.js";
import { ignoreFailure } from "../common/promises.js";
import { logLine } from "./log-line.js";
import type { OutcomeReport } from "./observers.js";

/**
 * The details of a log line: the known fields of an `OutcomeReport`, with the error as `err`. Holds no
 * part of the body, no signature, no secret and no other header.
 */
export interface LogDetails extends Partial<Omit<OutcomeReport, "error">> {
  /**
   * What the handler, the store or the secret function threw, unchanged. The error serializers of pino
   * and winston look for this name.
   */
  readonly err?: unknown;
}

/**
 * Where the receiver writes its log. The message names the outcome and what to do about it, on one line.
 * What a method returns, throws or rejects with is ignored. winston and `console` take the arguments in
 * this order. pino takes `(details, message)`, so wrap it.
 *
 * @example
 * const logger: WebhookLogger = {
 *   warn: (message, details) => log.warn(details, message), // log: pino's
 *   error: (message, details) => log.error(details, message),
 * };
 */
export interface WebhookLogger {
  warn(message: string, details: LogDetails): unknown;
  error(message: string, details: LogDetails): unknown;
}

const lines: Pick<Console, "warn" | "error"> = console;

/** The default logger: one line an entry, with `key=value` at its end. */
export const consoleLines: WebhookLogger = {
  warn: (message, details) => lines.warn(logLine(message, details)),
  error: (message, details) => lines.error(logLine(message, details)),
};

/**
 * The log of a receiver or a worker. Its methods never throw, even if the logger does. `error` in the
 * details becomes `err`.
 */
export class Log {
  readonly #logger: WebhookLogger | false;

  constructor(logger: WebhookLogger | false) {
    this.#logger = logger;
  }

  warn(message: string, details: object = {}): void {
    this.#write("warn", message, details);
  }

  error(message: string, details: object = {}): void {
    this.#write("error", message, details);
  }

  #write(level: "warn" | "error", message: string, given: object): void {
    const logger = this.#logger;
    if (logger === false) return;
    const { error, ...facts } = given as Partial<OutcomeReport>;
    const details: LogDetails = error === undefined ? facts : { ...facts, err: error };
    void ignoreFailure(() => logger[level](`identity-gateway-webhooks: ${message}`, details));
  }
}

/** Throws `ConfigurationError` for a value that is neither a logger nor false. */
export function checkLogger(logger: unknown): void {
  if (logger === false) return;
  const { warn, error, bindings } = (logger ?? {}) as Record<string, unknown>;
  if (typeof warn !== "function" || typeof error !== "function") {
    throw invalidOption("logger must have the methods warn and error, or be false");
  }
  // Only pino has `bindings`. pino would read the message as a format string and drop the details.
  if (typeof bindings === "function") {
    throw invalidOption(
      "logger is pino, which takes the details first: wrap it, { warn: (message, details) => log.warn(details, message), error: … }",
    );
  }
}
