import { ConfigurationError, invalidOption } from "./errors.js";

/**
 * The check that every public constructor runs on its options. Returns a copy of the options' own
 * properties without a prototype, so that a polluted `Object.prototype` adds no option. `maker` names the
 * constructor in the message.
 *
 * @throws ConfigurationError if `options` is no object, or has a name that `known` lacks: a misspelt
 * option would silently keep its default.
 */
export function ownOptions<Options extends object>(
  maker: string,
  options: Options,
  known: readonly string[],
): Options {
  const given: unknown = options;
  if (!isObject(given)) {
    throw new ConfigurationError("invalid_options", `${maker} takes an options object`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ConfigurationError(
      "unknown_option",
      `${unknown} is no option of ${maker}: is it misspelt? There are ${known.join(", ")}`,
    );
  }
  const inherited = inheritedName(given, known);
  if (inherited !== undefined) {
    throw new ConfigurationError("invalid_options", `${maker}: ${inherited} ${IS_INHERITED}`);
  }
  return Object.assign(Object.create(null) as object, given) as Options;
}

/** Whether a value is an object, and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is wrong with an inherited member. Only own ones are read, so that a polluted prototype adds none. */
export const IS_INHERITED =
  "is inherited, and would have no effect: make it a property of the object itself";

/**
 * The first of the names that the object inherits, such as a method of its class. A member of `Object.prototype` is a
 * stranger's, and is ignored.
 */
export function inheritedName(object: object, names: readonly string[]): string | undefined {
  return names.find(
    (name) => name in object && !Object.hasOwn(object, name) && !(name in Object.prototype),
  );
}

/** Default and bounds of an option that is a whole number. The bounds are inclusive. */
export interface IntegerRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** `value`, or the default if it is undefined. Throws `ConfigurationError` if it is out of bounds. */
export function integerOption(
  name: string,
  value: unknown,
  { fallback, min, max }: IntegerRule,
): number {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    const bounds = `${String(min)} to ${String(max)}`;
    throw invalidOption(
      `${name} must be a whole number from ${bounds}; leave it out for ${String(fallback)}`,
    );
  }
  return value;
}

/** The options that `rules` name, each checked by `integerOption`. */
export function integerOptions<Name extends string>(
  options: Readonly<Partial<Record<NoInfer<Name>, unknown>>>,
  rules: Readonly<Record<Name, IntegerRule>>,
): Record<Name, number> {
  const checked = (Object.keys(rules) as Name[]).map((name) => [
    name,
    integerOption(name, options[name], rules[name]),
  ]);
  return Object.fromEntries(checked) as Record<Name, number>;
}

/** The first of `methods` that `value` lacks; undefined if it has them all. Accepts any value. */
export function missingMethod(value: unknown, methods: readonly string[]): string | undefined {
  const members = Object(value) as Record<string, unknown>;
  return methods.find((method) => typeof members[method] !== "function");
}

/**
 * Throws `ConfigurationError` (`invalid_option`) if `value` lacks one of `methods`, with the message that `describe`
 * makes of its name.
 */
export function requireMethods(
  value: unknown,
  methods: readonly string[],
  describe: (missing: string) => string,
): void {
  const missing = missingMethod(value, methods);
  if (missing !== undefined) throw invalidOption(describe(missing));
}

/** `value`, or the default if it is undefined. Throws `ConfigurationError` if it is no boolean. */
export function booleanOption(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === "boolean") return value;
  throw invalidOption(`${name} must be true or false`);
}

/**
 * The error for an object of an optional peer that cannot work. `found` says which version it is of, or what it
 * lacks.
 */
export function unsupportedVersion(
  option: string,
  found: string,
  supported: string,
): ConfigurationError {
  return new ConfigurationError(
    "unsupported_version",
    `${option} is of ${found}, which does not work here. Supported: ${supported}`,
  );
}

/**
 * Throws `unsupported_version` if `value` has some of `methods` but not all: it is what the option takes, of a
 * version of `peer` that cannot work. A value with none of them is something else, and passes.
 */
export function checkVersion(
  option: string,
  value: unknown,
  methods: readonly string[],
  peer: string,
  supported: string,
): void {
  const missing = missingMethod(value, methods);
  const hasNone = methods.every((method) => missingMethod(value, [method]) !== undefined);
  if (missing === undefined || hasNone) return;
  throw unsupportedVersion(option, `a version of ${peer} without the method ${missing}`, supported);
}
