import { ConfigurationError } from "./configuration-error.js";

/**
 * The option check of every public constructor. Returns a copy of the options' own properties, without a
 * prototype: what a polluted `Object.prototype` holds is no option of ours.
 *
 * Throws `ConfigurationError` where `options` is no object, and for a name that is not `known`, which is
 * misspelt and would silently keep its default. `maker` names the constructor in the message.
 */
export function ownOptions<Options extends object>(
  maker: string,
  options: Options,
  known: readonly string[],
): Options {
  const given: unknown = options;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new ConfigurationError("invalid_options", `${maker} takes an options object`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ConfigurationError(
      "unknown_option",
      `${unknown} is no option of ${maker}: is it misspelt? There are ${known.join(", ")}`,
    );
  }
  return Object.assign(Object.create(null) as object, given) as Options;
}
