import { ConfigurationError } from "../../common/errors.js";
import { INTEGER_OPTIONS } from "../../options/options.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { MAX_TIMER_MS } from "../../common/timers.js";
import { keyOf } from "../../signature/secrets.js";
import { isWebhookType, WEBHOOK_TYPES, type WebhookType } from "../../delivery/webhook-type.js";
import { createSender } from "../sending/sender.js";
import type { Target } from "../sending/target.js";

/** Options of `receiverConformance`. */
export interface ConformanceOptions {
  /** The receiver: a URL in any language, a function from `Request` to `Response`, or one of ours. */
  readonly target: Target;
  /** The secret that it verifies with. */
  readonly secret: string;
  /** The webhook types that it is registered for. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /**
   * How often the handler's effect has happened for a delivery id: rows written, messages sent. Asked
   * after an answer has come. To have put it into a queue that survives the process counts as the
   * effect. Without it a double or a lost alarm behind a 200 cannot be seen.
   */
  readonly handled?: ((id: string) => number | PromiseLike<number>) | undefined;
  /**
   * Awaits `work` while the handler fails, and lets it succeed again afterwards. Without it what a
   * receiver answers for a failed handler, and to a copy while it runs, cannot be seen.
   */
  readonly whileFailing?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /**
   * Awaits `work` while the handler takes longer than the receiver waits for it, and resolves when the
   * runs that began meanwhile have finished: late, and with success. Without it what a receiver makes
   * of a late success cannot be seen. Give the receiver a short time-out for it (ours:
   * `handlerTimeoutMs`), and one that is shorter than `timeoutMs`.
   */
  readonly whileSlow?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /**
   * How long an answer may take. The gateway's own time-out is not documented. Milliseconds, from 1 to
   * 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /** The largest body that it reads; one twice as large is sent. Bytes, default 1 048 576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;
  /** Takes any TLS certificate. Default false. */
  readonly skipTlsVerification?: boolean | undefined;
  /** The receiver's clock: Unix time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options, checked and with their defaults. */
export interface ConformanceSettings {
  readonly target: Target;
  /** Where the target is reached by HTTP. */
  readonly url: URL | undefined;
  readonly secret: string;
  readonly types: readonly [WebhookType, ...WebhookType[]];
  readonly handled: ConformanceOptions["handled"];
  readonly whileFailing: ConformanceOptions["whileFailing"];
  readonly whileSlow: ConformanceOptions["whileSlow"];
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly skipTlsVerification: boolean;
  readonly now: () => number;
}

const KNOWN = [
  ...["target", "secret", "types", "handled", "whileFailing", "whileSlow"],
  ...["timeoutMs", "maxBodyBytes", "skipTlsVerification", "now"],
];

/** Checks the options. Throws `ConfigurationError` where one cannot work. */
export function checkConformanceOptions(given: ConformanceOptions): ConformanceSettings {
  const options = ownOptions("receiverConformance", given, KNOWN);
  const { target, secret, types = WEBHOOK_TYPES, handled, whileFailing, whileSlow } = options;
  const { now = Date.now, skipTlsVerification = false } = options;
  keyOf(secret);
  // Refuses a target that cannot be one.
  createSender(target).close();
  const listed: readonly string[] = Array.isArray(types) ? types : [];
  const [type, ...otherTypes] = listed.filter(isWebhookType);
  if (type === undefined || otherTypes.length + 1 < listed.length) {
    const known = WEBHOOK_TYPES.join(", ");
    throw new ConfigurationError("invalid_option", `types has to be a list of: ${known}`);
  }
  for (const [name, hook] of Object.entries({ handled, whileFailing, whileSlow, now })) {
    if (hook !== undefined && typeof hook !== "function") {
      throw new ConfigurationError("invalid_option", `${name} has to be a function`);
    }
  }
  return {
    target,
    url: typeof target === "string" || target instanceof URL ? new URL(target) : undefined,
    secret,
    types: [type, ...otherTypes],
    handled,
    whileFailing,
    whileSlow,
    timeoutMs: integerOption("timeoutMs", options.timeoutMs, {
      fallback: 30_000,
      min: 1,
      max: MAX_TIMER_MS,
    }),
    maxBodyBytes: integerOption("maxBodyBytes", options.maxBodyBytes, INTEGER_OPTIONS.maxBodyBytes),
    skipTlsVerification,
    now,
  };
}
