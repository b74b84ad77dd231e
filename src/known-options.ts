import { ConfigurationError } from "./configuration-error.js";

/** Refuses an option that nobody reads, which would silently keep its default: it is misspelt. */
export function refuseUnknownOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    "unknown_option",
    `${unknown} is no option: is it misspelt? There are ${known.join(", ")}`,
  );
}
