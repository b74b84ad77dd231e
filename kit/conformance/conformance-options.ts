import { ConfigurationError } from "../../src/common/errors.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { keyOf } from "../../src/signature/secrets.js";
import { isWebhookType, WEBHOOK_TYPES, type WebhookType } from "../../src/delivery/headers.js";
import { checkHooks } from "../option-checks.js";
import { checkAccountIds } from "../samples/sample-options.js";
import { createSender } from "../sending/sender.js";
import type { WebhookTarget } from "../sending/target.js";

/**
 * Options of `receiverConformance`.
 *
 * @experimental
 */
export interface ConformanceOptions {
  /** The receiver: a URL, a function from `Request` to `Response`, or a `WebhookReceiver`. */
  readonly target: WebhookTarget;
  /** The secret with which the receiver verifies deliveries. */
  readonly secret: string;
  /** The webhook types that the receiver is registered for. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /** Accounts of the receiver's test data, for tables that refer to accounts. Default: made-up accounts. */
  readonly accountIds?: readonly number[] | undefined;
  /**
   * Returns how often a delivery id was handled: rows written, messages sent. A delivery that is in a queue
   * which survives the process counts as handled. Called after an answer has arrived. Without it the suite
   * cannot see whether an alarm behind a 200 was lost or handled twice.
   */
  readonly handled?: ((id: string) => number | PromiseLike<number>) | undefined;
  /**
   * Makes the handler fail, awaits `work()`, then lets the handler succeed again. Without it the suite cannot
   * see what the receiver answers when its handler fails, or to a duplicate meanwhile.
   */
  readonly whileFailing?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /**
   * Makes the handler slower than the receiver waits for it and awaits `work()`. Resolves when the handlers
   * that started meanwhile have finished late. Without it the suite cannot see what the receiver does after a
   * late success. Give the receiver a short time-out for this (here: `handlerTimeoutMs`), shorter than
   * `timeoutMs`. One case calls it within `whileFailing`: then the handler must be slow first and fail after
   * that.
   */
  readonly whileSlow?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /**
   * How long a case waits until `handled` counts an acknowledged delivery, and the last case for what is
   * handled too late. Raise it for a queue whose consumer takes longer. Milliseconds, from 1 to 600 000,
   * default 2 000.
   */
  readonly handledWithinMs?: number | undefined;
  /**
   * How long a request waits for its answer. The gateway does not document its own time-out. Milliseconds,
   * from 1 to 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The largest body that the receiver accepts. The suite sends one of twice this size. Bytes, default
   * 1 048 576 (1 MiB).
   */
  readonly maxBodyBytes?: number | undefined;
  /**
   * How many requests a case sends at the same time, of those that do not depend on each other. More than 1 saves time
   * with a slow receiver; some cases send more at once in any event, to see what then happens. Whole number from 1 to
   * 100, default 1.
   */
  readonly requestsAtOnce?: number | undefined;
  /** Accepts any TLS certificate. Default false. */
  readonly skipTlsVerification?: boolean | undefined;
  /** The receiver's clock: Unix time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options that change how the receiver's handler behaves. */
export type HandlerOption = "whileFailing" | "whileSlow";

/** An error of a probe whose message names the probe. */
export class ProbeError extends Error {}

/** What the texts of a suite call its options: the command line has other names. */
export type OptionNames = Readonly<
  Record<"types" | "handled" | "handledWithinMs" | HandlerOption, string>
>;

/** The names for a user of the library. */
export const OPTION_NAMES: OptionNames = {
  types: "the option types",
  handled: "the option handled",
  handledWithinMs: "the option handledWithinMs",
  whileFailing: "the option whileFailing",
  whileSlow: "the option whileSlow",
};

/** Bounds and default of `handledWithinMs`, also for the command line. */
export const HANDLED_WITHIN_MS = { min: 1, max: 600_000, fallback: 2_000 } as const;

/** Bounds and default of `requestsAtOnce`, and of `concurrency` of `runConformance`. */
export const CONCURRENCY = { min: 1, max: 100, fallback: 1 } as const;

const TIMEOUT_MS = { min: 1, max: MAX_TIMER_MS, fallback: 30_000 };
const KNOWN = [
  "target",
  "secret",
  "types",
  "accountIds",
  "handled",
  "whileFailing",
  "whileSlow",
  "handledWithinMs",
  "timeoutMs",
  "maxBodyBytes",
  "requestsAtOnce",
  "skipTlsVerification",
  "now",
];

/**
 * Checks the options and adds the defaults.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function checkConformanceOptions(given: ConformanceOptions, names: OptionNames) {
  const options = ownOptions("receiverConformance", given, KNOWN);
  const { target, secret, types = WEBHOOK_TYPES, handled, whileFailing, whileSlow } = options;
  const { now = Date.now, skipTlsVerification = false } = options;
  keyOf(secret);
  // Throws for an invalid target.
  createSender(target).close();
  const listed: readonly string[] = Array.isArray(types) ? types : [];
  const [type, ...otherTypes] = listed.filter(isWebhookType);
  if (type === undefined || otherTypes.length + 1 < listed.length) {
    const known = WEBHOOK_TYPES.join(", ");
    throw new ConfigurationError("invalid_option", `types must be a list of: ${known}`);
  }
  checkHooks({ handled, whileFailing, whileSlow, now });
  return {
    target,
    /** Undefined when the target is called in this process. */
    url: typeof target === "string" || target instanceof URL ? new URL(target) : undefined,
    secret,
    types: [type, ...otherTypes] as const,
    accountIds: checkAccountIds(options.accountIds),
    handled,
    whileFailing,
    whileSlow,
    handledWithinMs: integerOption("handledWithinMs", options.handledWithinMs, HANDLED_WITHIN_MS),
    timeoutMs: integerOption("timeoutMs", options.timeoutMs, TIMEOUT_MS),
    maxBodyBytes: integerOption("maxBodyBytes", options.maxBodyBytes, INTEGER_OPTIONS.maxBodyBytes),
    requestsAtOnce: integerOption("requestsAtOnce", options.requestsAtOnce, CONCURRENCY),
    skipTlsVerification,
    now,
    names,
  };
}

/** The options with their defaults. */
export type ConformanceSettings = ReturnType<typeof checkConformanceOptions>;
