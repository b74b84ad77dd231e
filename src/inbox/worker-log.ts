import { ConfigurationError } from "../configuration-error.js";
import { guarded } from "../guarded.js";
import type { Logger } from "../logger.js";

/** Writes one line. Never throws, whatever the logger does. */
export type WorkerLog = (level: "warn" | "error", message: string, details?: unknown) => void;

/** Makes the log of a worker. Throws `ConfigurationError` for what is no logger. */
export function createWorkerLog(logger: Logger | false = console): WorkerLog {
  const given: unknown = logger;
  if (given === false) return () => undefined;
  if (!isLogger(given)) {
    const rule = "logger has to have the methods warn and error, or be false";
    throw new ConfigurationError("invalid_option", rule);
  }
  return (level, message, details) => {
    const line = `identity-gateway-webhooks: ${message}`;
    guarded(() => (details === undefined ? given[level](line) : given[level](line, details)));
  };
}

function isLogger(value: unknown): value is Logger {
  if (typeof value !== "object" || value === null) return false;
  const { warn, error } = value as Partial<Logger>;
  return typeof warn === "function" && typeof error === "function";
}
