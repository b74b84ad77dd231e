import { ConfigurationError } from "../common/errors.js";

/** Throws `ConfigurationError` where a client of an engine lacks a method that will be called. */
export function checkClient(name: string, client: unknown, methods: readonly string[]): void {
  const members = (client ?? {}) as Record<string, unknown>;
  const missing = methods.find((method) => typeof members[method] !== "function");
  if (missing === undefined) return;
  throw new ConfigurationError("invalid_option", `${name} has to have the method ${missing}`);
}

/** Throws `ConfigurationError` where a queue's name is none. */
export function checkQueueName(name: string, value: unknown): void {
  if (typeof value === "string" && /^[\w.-]{1,128}$/.test(value)) return;
  throw new ConfigurationError(
    "invalid_option",
    `${name} has to be a queue's name: 1 to 128 letters, digits, underscores, dots or hyphens`,
  );
}
