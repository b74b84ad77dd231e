import { ConfigurationError } from "../../src/common/errors.js";
import { checkOption } from "../option-checks.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { keyOf } from "../../src/signature/secrets.js";
import { createSender } from "../sending/sender.js";
import { checkFaults } from "./faults.js";
import { checkRetrySchedule } from "./retry-schedule.js";
import { createScaledClock } from "./scaled-clock.js";
import type { GatewayTwinOptions, SingleTargetTwinOptions } from "./twin-options.js";
import { activateWebhooks, type ActiveWebhook } from "./twin-webhook.js";

/** The names of `CommonTwinOptions`. */
export const COMMON_TWIN_OPTIONS = [
  "retry",
  "timeoutMs",
  "refreshTimestamp",
  "unlistedStatus",
  "faults",
  "seed",
  "clock",
  "signal",
  "onAttempt",
  "onDelivery",
];

const SINGLE = ["target", "secret", "skipSslVerification"];
const SEVERAL = ["webhooks"];

const MAX_SEED = 4_294_967_295;

/**
 * Checks the options of a twin and adds the defaults.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function checkTwinOptions(given: GatewayTwinOptions) {
  const shape = Object.hasOwn(Object(given) as object, "webhooks") ? SEVERAL : SINGLE;
  const options = ownOptions("createGatewayTwin", given, [...shape, ...COMMON_TWIN_OPTIONS]);
  const isSingle = !("webhooks" in options);
  const limit = { fallback: 30_000, min: 1, max: MAX_TIMER_MS };
  const timeoutMs = integerOption("timeoutMs", options.timeoutMs, limit);
  const { refreshTimestamp = true, unlistedStatus = "give_up" } = options;
  const isRule = ["give_up", "retry"].includes(unlistedStatus);
  checkOption(isRule, `unlistedStatus must be "give_up" or "retry"`);
  const drawnSeed = Math.floor(Math.random() * MAX_SEED);
  const { clock = createScaledClock(), signal, onAttempt, onDelivery } = options;
  return {
    isSingle,
    webhooks: isSingle
      ? [onlyWebhook(options, timeoutMs)]
      : activateWebhooks(options.webhooks, timeoutMs),
    timeoutMs,
    refreshTimestamp,
    unlistedStatus,
    schedule: checkRetrySchedule(options.retry),
    faults: checkFaults(options.faults),
    seed: integerOption("seed", options.seed, { fallback: drawnSeed, min: 0, max: MAX_SEED }),
    clock,
    signal,
    onAttempt,
    onDelivery,
  };
}

function onlyWebhook(
  { target, secret, skipSslVerification = false }: SingleTargetTwinOptions,
  timeoutMs: number,
): ActiveWebhook {
  if (secret === undefined) {
    throw new ConfigurationError(
      "missing_secret",
      "secret is not given: only an entry of `webhooks` may leave it out, and its deliveries are not signed",
    );
  }
  const sender = createSender(target, { timeoutMs, skipTlsVerification: skipSslVerification });
  return { title: "webhook", type: undefined, secret: keyOf(secret), sender };
}

/** The options of a twin, checked and with their defaults. */
export type TwinSettings = ReturnType<typeof checkTwinOptions>;
