import { ConfigurationError } from "./configuration-error.js";
import { createRoutes, type FindRoute, type Handlers } from "./handlers.js";
import { MAX_TIMER_MS, integerOption, type IntegerRule } from "./integer-option.js";
import type { Logger } from "./logger.js";
import type { OutcomeReport } from "./report.js";
import { createKeyring, type Keyring, type SecretOption } from "./secrets.js";
import type { DeliveryStore } from "./stores/delivery-store.js";
import { memoryStore } from "./stores/memory-store.js";

const HOUR_MS = 3_600_000;

/** Every option that is a whole number: its default and its bounds. Two more rules stand below. */
export const INTEGER_OPTIONS = {
  timestampToleranceMs: { fallback: 300_000, min: 1_000, max: Number.MAX_SAFE_INTEGER },
  // 10 attempts with gaps of up to 4 h span up to 36 h (GATEWAY.md, "Limits"); 72 h leave room for jitter.
  retentionMs: { fallback: 168 * HOUR_MS, min: 72 * HOUR_MS, max: Number.MAX_SAFE_INTEGER },
  leaseMs: { fallback: 30_000, min: 1_000, max: MAX_TIMER_MS },
  handlerTimeoutMs: { fallback: 20_000, min: 1, max: MAX_TIMER_MS },
  dependencyTimeoutMs: { fallback: 5_000, min: 1, max: MAX_TIMER_MS },
  maxBodyBytes: { fallback: 1_048_576, min: 1, max: 268_435_456 },
} as const satisfies Record<string, IntegerRule>;

type IntegerOption = keyof typeof INTEGER_OPTIONS;

/** What can be set beside the secret. */
export interface CommonReceiverOptions {
  /** The handlers; at least one. */
  handlers: Handlers;
  /** Remembers which deliveries were handled. Default `memoryStore()`: one process, gone with it. */
  store?: DeliveryStore | undefined;
  /**
   * How far X-Webhook-Timestamp may lie from `now`, in both directions. Milliseconds, from 1 000 to
   * `retentionMs`, default 300 000 (5 minutes).
   */
  timestampToleranceMs?: number | undefined;
  /**
   * How long a handled id is remembered. Milliseconds, at least 72 hours (the gateway's attempts span
   * up to 36, more with jitter) and at least the tolerance, default 7 days.
   */
  retentionMs?: number | undefined;
  /**
   * How long a claim holds without renewal; it is renewed while the handler runs. Milliseconds, from
   * 1 000 to 2 147 483 647, default 30 000.
   */
  leaseMs?: number | undefined;
  /**
   * When the gateway is answered 503 although the handler still runs; the handler goes on, and its
   * late success counts. Milliseconds, from 1 to 2 147 483 647, default 20 000.
   */
  handlerTimeoutMs?: number | undefined;
  /**
   * Bounds the secret function and every call of the store. Milliseconds, from 1 to 2 147 483 647,
   * default 5 000.
   */
  dependencyTimeoutMs?: number | undefined;
  /** The largest body that is read. Bytes, from 1 to 268 435 456, default 1 048 576 (1 MiB). */
  maxBodyBytes?: number | undefined;
  /**
   * `"retry"` (default) answers what cannot be verified with a status that makes the gateway send it
   * again. `"reject"` answers the conventional 400, 401 and 413, on which the gateway gives up for good.
   */
  unverifiable?: "retry" | "reject" | undefined;
  /** Called once per request. It may throw or reject without effect on the answer. */
  onOutcome?: ((report: OutcomeReport) => unknown) | undefined;
  /** Where warnings and errors go: default `console`, `false` for nowhere. */
  logger?: Logger | false | undefined;
  /** The clock for freshness: Unix time in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Options of a receiver that verifies signatures. */
export interface SigningReceiverOptions extends CommonReceiverOptions {
  /**
   * The secret chosen at webhook registration: one, several during a rotation, one per webhook type,
   * or a function. Typed to take an environment variable as it is; one that is not set is refused.
   */
  secret: SecretOption | undefined;
  acceptUnsignedDeliveries?: false | undefined;
}

/** Options of a receiver that takes any delivery for authentic. */
export interface UnsignedReceiverOptions extends CommonReceiverOptions {
  secret?: undefined;
  /** The only way to run without a secret: anyone who finds the URL can then raise alarms. */
  acceptUnsignedDeliveries: true;
}

/** Options of `createWebhookReceiver`. All are checked when the receiver is made. */
export type WebhookReceiverOptions = SigningReceiverOptions | UnsignedReceiverOptions;

/** The options with defaults filled in, and what is made of them once. */
export interface Settings extends Record<IntegerOption, number> {
  /** Undefined where unsigned deliveries are accepted. */
  readonly keyring: Keyring | undefined;
  readonly findRoute: FindRoute;
  readonly store: DeliveryStore;
  readonly unverifiable: "retry" | "reject";
  readonly onOutcome: ((report: OutcomeReport) => unknown) | undefined;
  readonly logger: Logger | false;
  readonly now: () => number;
}

const OPTION_NAMES = new Set<string>([
  ...Object.keys(INTEGER_OPTIONS),
  "secret",
  "acceptUnsignedDeliveries",
  "handlers",
  "store",
  "unverifiable",
  "onOutcome",
  "logger",
  "now",
]);
const STORE_METHODS = ["claim", "renew", "complete", "release"] as const;

/** Checks every option. Throws `ConfigurationError` with what to change. */
export function checkOptions(options: WebhookReceiverOptions): Settings {
  if (typeof options !== "object" || (options as unknown) === null) {
    throw new ConfigurationError(
      "invalid_options",
      "createWebhookReceiver takes an options object",
    );
  }
  const unknown = Object.keys(options).find((name) => !OPTION_NAMES.has(name));
  if (unknown !== undefined) {
    throw new ConfigurationError("unknown_option", `${unknown} is no option: is it misspelt?`);
  }
  const integers = checkIntegers(options);
  const { unverifiable = "retry", onOutcome, logger = console, now = Date.now } = options;
  if ((unverifiable as string) !== "retry" && unverifiable !== "reject") {
    throw invalid("unverifiable", 'has to be "retry" or "reject"');
  }
  if (onOutcome !== undefined && typeof onOutcome !== "function") {
    throw invalid("onOutcome", "has to be a function");
  }
  if (logger !== false && !(hasMethod(logger, "warn") && hasMethod(logger, "error"))) {
    throw invalid("logger", "has to have the methods warn and error, or be false");
  }
  if (typeof now !== "function") {
    throw invalid("now", "has to be a function that returns Unix time in milliseconds");
  }
  return {
    ...integers,
    keyring: checkSecret(options, integers.dependencyTimeoutMs),
    findRoute: createRoutes(options.handlers),
    store: checkStore(options.store),
    unverifiable,
    onOutcome,
    logger,
    now,
  };
}

function checkIntegers(options: WebhookReceiverOptions): Record<IntegerOption, number> {
  const names = Object.keys(INTEGER_OPTIONS) as IntegerOption[];
  const integers = Object.fromEntries(
    names.map((name) => [name, integerOption(name, options[name], INTEGER_OPTIONS[name])]),
  ) as Record<IntegerOption, number>;
  if (integers.timestampToleranceMs > integers.retentionMs) {
    // A delivery that is still fresh but no longer remembered would be handled twice.
    throw invalid("timestampToleranceMs", "has to be at most retentionMs");
  }
  return integers;
}

function checkSecret(
  { secret, acceptUnsignedDeliveries }: WebhookReceiverOptions,
  dependencyTimeoutMs: number,
): Keyring | undefined {
  const acceptUnsigned: unknown = acceptUnsignedDeliveries ?? false;
  if (typeof acceptUnsigned !== "boolean") {
    throw invalid("acceptUnsignedDeliveries", "has to be true or false");
  }
  if (acceptUnsigned) {
    if (secret === undefined) return undefined;
    throw new ConfigurationError(
      "conflicting_secret",
      "secret and acceptUnsignedDeliveries are both given: leave one out",
    );
  }
  const given: unknown = secret;
  if (given === undefined || given === null) {
    throw new ConfigurationError(
      "missing_secret",
      "secret is not given: pass the one chosen at webhook registration (is the environment variable set?)",
    );
  }
  if (typeof given !== "string" && typeof given !== "function" && typeof given !== "object") {
    throw new ConfigurationError(
      "unusable_secret",
      "secret has to be a string, a list of strings, one of these per webhook type, or a function",
    );
  }
  return createKeyring(given as SecretOption, dependencyTimeoutMs);
}

function checkStore(store: DeliveryStore | undefined): DeliveryStore {
  if (store === undefined) return memoryStore();
  const missing = STORE_METHODS.find((method) => !hasMethod(store, method));
  if (missing !== undefined) {
    throw new ConfigurationError("invalid_store", `store has to have the method ${missing}`);
  }
  return store;
}

function hasMethod(value: unknown, method: string): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)[method] === "function"
  );
}

function invalid(name: string, rule: string): ConfigurationError {
  return new ConfigurationError("invalid_option", `${name} ${rule}`);
}
