import { ConfigurationError } from "../../src/common/errors.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { integerOptions, ownOptions } from "../../src/common/option-checks.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../../src/delivery/headers.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { checkHooks, checkOption } from "../option-checks.js";
import { ALARM_EVENT_TYPES } from "../samples/sample-alarm.js";
import { checkAccountIds } from "../samples/sample-options.js";
import { createSender } from "../sending/sender.js";
import type { WebhookTarget } from "../sending/target.js";
import { checkSenderSecret, type SenderSecret } from "../signed-delivery.js";
import type { Need } from "./conformance-case.js";

/**
 * Options of `receiverConformance`.
 *
 * @experimental
 */
export interface ConformanceOptions {
  /** The receiver: a URL, a function from `Request` to `Response`, or a `WebhookReceiver`. */
  readonly target: WebhookTarget;
  /** The secret with which the receiver verifies deliveries, or that of each type. */
  readonly secret: SenderSecret;
  /** The webhook types that the receiver is registered for. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /** Accounts of the receiver's test data, for tables that refer to accounts. Default: made-up accounts. */
  readonly accountIds?: readonly number[] | undefined;
  /**
   * The documented values of `alarm.event_type` and `event.type` for which the handler does nothing on purpose. No
   * such record is sent. Default none.
   */
  readonly leftOut?: readonly string[] | undefined;
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
  Record<"types" | "leftOut" | "handled" | "handledWithinMs" | HandlerOption, string>
>;

/** The names for a user of the library. */
export const OPTION_NAMES: OptionNames = {
  types: "the option types",
  leftOut: "the option leftOut",
  handled: "the option handled",
  handledWithinMs: "the option handledWithinMs",
  whileFailing: "the option whileFailing",
  whileSlow: "the option whileSlow",
};

/** What `leftOut` may name. */
export const RECORD_TYPES: readonly string[] = [...ALARM_EVENT_TYPES, ...ONLINE_DATA_EVENT_TYPES];

/** Bounds and default of `handledWithinMs`, also for the command line. */
export const HANDLED_WITHIN_MS = { min: 1, max: 600_000, fallback: 2_000 } as const;

/** Bounds and default of `requestsAtOnce`, and of `concurrency` of `runConformance`. */
export const CONCURRENCY = { min: 1, max: 100, fallback: 1 } as const;

const INTEGERS = {
  handledWithinMs: HANDLED_WITHIN_MS,
  timeoutMs: { min: 1, max: MAX_TIMER_MS, fallback: 30_000 },
  maxBodyBytes: INTEGER_OPTIONS.maxBodyBytes,
  requestsAtOnce: CONCURRENCY,
};
const KNOWN = [
  "target",
  "secret",
  "types",
  "accountIds",
  "leftOut",
  "handled",
  "whileFailing",
  "whileSlow",
  ...Object.keys(INTEGERS),
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
  // Throws for an invalid target.
  createSender(target).close();
  const listed: readonly string[] = Array.isArray(types) ? types : [];
  const [type, ...otherTypes] = listed.filter(isWebhookType);
  if (type === undefined || otherTypes.length + 1 < listed.length) {
    const known = WEBHOOK_TYPES.join(", ");
    throw new ConfigurationError("invalid_option", `types must be a list of: ${known}`);
  }
  checkSenderSecret(secret, [type, ...otherTypes]);
  checkHooks({ handled, whileFailing, whileSlow, now });
  return {
    target,
    /** Undefined when the target is called in this process. */
    url: typeof target === "string" || target instanceof URL ? new URL(target) : undefined,
    secret,
    types: [type, ...otherTypes] as const,
    accountIds: checkAccountIds(options.accountIds),
    leftOut: checkLeftOut(options.leftOut),
    handled,
    whileFailing,
    whileSlow,
    ...integerOptions(options, INTEGERS),
    skipTlsVerification,
    now,
    names,
  };
}

function checkLeftOut(given: readonly string[] = []): readonly string[] {
  const names: unknown = given;
  const isKnown = Array.isArray(names) && names.every((one) => RECORD_TYPES.includes(String(one)));
  checkOption(isKnown, `leftOut must be a list of: ${RECORD_TYPES.join(", ")}`);
  return given;
}

/** The options with their defaults. */
export type ConformanceSettings = ReturnType<typeof checkConformanceOptions>;

/** What a rule can need before it runs. */
export type RuleNeed = Extract<
  Need,
  "new_alarm" | "delete_my_data_event" | "url" | "handled" | "whileFailing" | "whileSlow"
>;

/** Thrown when it cannot be seen from outside whether the receiver conforms. */
export class NotJudged extends Error {
  readonly need: Need;

  constructor(need: Need, reason: string) {
    super(reason);
    this.need = need;
  }
}

/** Why a case is not judged without what it needs. `names`: what to call the options. */
export const UNMET_NEEDS: Readonly<Record<Need, (names: OptionNames) => string>> = {
  new_alarm: () => "the receiver is not registered for new_alarm",
  delete_my_data_event: () => "the receiver is not registered for delete_my_data_event",
  url: () => "this case is about the connection: pass a URL as target",
  handled: ({ handled }) =>
    `how often a delivery was handled cannot be seen from outside: pass ${handled}`,
  whileFailing: ({ whileFailing }) =>
    `the handler cannot be made to fail from outside: pass ${whileFailing}`,
  whileSlow: ({ whileSlow }) => `the handler cannot be made slow from outside: pass ${whileSlow}`,
  slow_then_failing: ({ whileFailing, whileSlow }) =>
    `the handler failed at once: under ${whileFailing} together with ${whileSlow} it must be slow first`,
  handled_before_answer: ({ handled }) =>
    `the delivery was handled only after the answer: that is right if it was in a queue that survives the process; in that case let ${handled} also count the deliveries in the queue`,
  accepted_delivery: () => "the receiver does not accept a plain genuine delivery: fix that first",
  longer_secret: () =>
    "the secret is too short to be told from other text: use one of 16 characters or more",
  no_rate_limiter: () => "a rate limiter answered 429: lift its limit for this run",
};
