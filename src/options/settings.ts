import type { AnswerOptions } from "../answer/reporter.js";
import {
  booleanOption,
  integerOptions,
  isObject,
  missingMethod,
  ownOptions,
} from "../common/option-checks.js";
import { ConfigurationError, invalidOption } from "../common/errors.js";
import { checkHandlers, type WebhookHandlers } from "../handling/handlers.js";
import { checkRecordOption, type OnceOption } from "../handling/once-per-record.js";
import { consoleLines, Log, checkLogger } from "../answer/logger.js";
import { UNVERIFIABLE_OUTCOMES, type UnverifiableOption } from "../answer/outcome.js";
import { INTEGER_OPTIONS, type IntegerOption, type WebhookReceiverOptions } from "./options.js";
import { keyringOf, type Keyring } from "../signature/keyring.js";
import { defaultStore } from "../stores/memory-store.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { checkExpectEvery, type ExpectedEvery } from "../telemetry/expect-every.js";
import type { WebhookTelemetry } from "../telemetry/telemetry.js";
import { WeakSecretCheck } from "../signature/weak-secrets.js";

/** The checked options, with defaults filled in and the keyring made. */
export interface Settings extends Record<IntegerOption, number>, AnswerOptions {
  /** Undefined if unsigned deliveries are accepted. */
  readonly keyring: Keyring | undefined;
  readonly handlers: WebhookHandlers;
  readonly store: DeliveryStore | TransactionalStore<unknown>;
  readonly once: OnceOption;
  readonly telemetry: WebhookTelemetry | undefined;
  readonly expectEvery: ExpectedEvery;
}

/** The names of all options. */
export const OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "secret",
  "acceptUnsignedDeliveries",
  "handlers",
  "store",
  "once",
  "unverifiable",
  "onOutcome",
  "onAuthenticDelivery",
  "telemetry",
  "expectEvery",
  "logger",
  "now",
];
const STORE_METHODS = ["claim", "renew", "complete", "release"] as const;

/** Checks every option. Throws `ConfigurationError`, whose message says what to change. */
export function checkOptions<Tx>(given: WebhookReceiverOptions<Tx>): Settings {
  const options = ownOptions("createWebhookReceiver", given, OPTION_NAMES);
  const integers = checkIntegers(options);
  const store = checkStore(options.store);
  const { logger = consoleLines, now = Date.now } = options;
  const { onOutcome, onAuthenticDelivery, telemetry } = options;
  const finalOutcomes = checkUnverifiable(options.unverifiable);
  for (const [name, observer] of Object.entries({ onOutcome, onAuthenticDelivery })) {
    if (observer !== undefined && typeof observer !== "function") {
      throw invalidOption(`${name} must be a function`);
    }
  }
  checkLogger(logger);
  if (typeof now !== "function") {
    throw invalidOption("now must be a function that returns Unix time in milliseconds");
  }
  // Only handlers of a `TransactionalStore` expect `context.tx`, and `TransactionalHandling` adds it.
  const handlers = options.handlers as WebhookHandlers;
  checkHandlers(handlers);
  checkLargestBody(handlers, integers.maxBodyBytes);
  const weakSecretCheck = new WeakSecretCheck(new Log(logger));
  const maxConcurrentDeliveries = Math.min(
    options.maxConcurrentDeliveries ?? Infinity,
    ownLimitOf(store) ?? integers.maxConcurrentDeliveries,
  );
  return {
    ...integers,
    maxConcurrentDeliveries,
    keyring: checkSecret(
      options,
      integers.dependencyTimeoutMs,
      weakSecretCheck,
      finalOutcomes.has("signature_mismatch"),
    ),
    handlers,
    store,
    once: checkOnce(options.once, options.acceptUnsignedDeliveries, store),
    finalOutcomes,
    onOutcome,
    onAuthenticDelivery,
    telemetry,
    expectEvery: checkExpectEvery(options.expectEvery),
    logger,
    now,
  };
}

function checkUnverifiable(given: UnverifiableOption = "retry"): Settings["finalOutcomes"] {
  const chosen: Readonly<Record<string, unknown>> = isObject(given)
    ? ownOptions("unverifiable", given, UNVERIFIABLE_OUTCOMES)
    : Object.fromEntries(UNVERIFIABLE_OUTCOMES.map((outcome) => [outcome, given]));
  if (!Object.values(chosen).every((word = "retry") => word === "retry" || word === "reject")) {
    throw invalidOption('unverifiable must be "retry" or "reject", for all outcomes or for each');
  }
  return new Set(UNVERIFIABLE_OUTCOMES.filter((outcome) => chosen[outcome] === "reject"));
}

function checkIntegers(
  options: Partial<Record<IntegerOption, number | undefined>>,
): Record<IntegerOption, number> {
  const integers = integerOptions(options, INTEGER_OPTIONS);
  const { timestampToleranceMs, retentionMs, handlerTimeoutMs, handlerMaxMs } = integers;
  if (options.handlerMaxMs !== undefined && handlerMaxMs < handlerTimeoutMs) {
    throw invalidOption("handlerMaxMs must be at least handlerTimeoutMs");
  }
  if (timestampToleranceMs > retentionMs) {
    throw invalidOption("timestampToleranceMs must be at most retentionMs");
  }
  // A timestamp ahead of the clock stays fresh for twice the tolerance, and a fresh delivery may wait for a place before
  // its claim. One that is no longer remembered then would be handled again.
  return {
    ...integers,
    retentionMs: Math.max(retentionMs, 2 * timestampToleranceMs + handlerTimeoutMs),
    handlerMaxMs: Math.max(handlerMaxMs, handlerTimeoutMs),
  };
}

function checkSecret(
  {
    secret,
    acceptUnsignedDeliveries,
  }: Pick<WebhookReceiverOptions, "secret" | "acceptUnsignedDeliveries">,
  dependencyTimeoutMs: number,
  weakSecretCheck: WeakSecretCheck,
  isMismatchFinal: boolean,
): Keyring | undefined {
  if (booleanOption("acceptUnsignedDeliveries", acceptUnsignedDeliveries, false)) {
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
      "secret must be a string, a list of strings, one of these per webhook type, or a function",
    );
  }
  return keyringOf(given, dependencyTimeoutMs, weakSecretCheck, isMismatchFinal);
}

export function checkStore(store: Settings["store"] | undefined): Settings["store"] {
  if (store === undefined) return defaultStore();
  if (missingMethod(store, ["process"]) === undefined) {
    if (missingMethod(store, ["claim"]) !== undefined) return store;
    throw new ConfigurationError(
      "invalid_store",
      "store has process and claim: it must be a TransactionalStore or a DeliveryStore, not both",
    );
  }
  const missing = missingMethod(store, STORE_METHODS);
  if (missing !== undefined) {
    throw new ConfigurationError(
      "invalid_store",
      `store must have the method ${missing}, or as a TransactionalStore the method process`,
    );
  }
  return store;
}

function checkOnce(
  once: WebhookReceiverOptions["once"] = "delivery",
  acceptsUnsigned: boolean | undefined,
  store: Settings["store"],
): OnceOption {
  if (once === "delivery") return once;
  if (acceptsUnsigned === true) {
    throw invalidOption(
      'once must be "delivery" with acceptUnsignedDeliveries: anyone could have an alarm skipped by its number',
    );
  }
  checkRecordOption(once);
  if (!("process" in store) || store.remembersRecords === true) return once;
  throw new ConfigurationError(
    "invalid_store",
    "once: this TransactionalStore does not say that it remembers records (remembersRecords): use another store, or leave once out",
  );
}

/** A body that a handler can never take must be found now, not after the gateway's last attempt. */
function checkLargestBody(handlers: WebhookHandlers, maxBodyBytes: number): void {
  const functions = Object.values(handlers).flatMap((given: object | undefined): unknown[] =>
    typeof given === "object" ? Object.values(given) : [given],
  ) as ({ readonly maxBodyBytes?: unknown } | undefined)[];
  for (const handler of functions) {
    const own = handler !== undefined && Object.hasOwn(handler, "maxBodyBytes");
    const limit = own ? handler.maxBodyBytes : undefined;
    if (typeof limit !== "number" || maxBodyBytes <= limit) continue;
    throw invalidOption(
      `maxBodyBytes must be at most ${String(limit)}, the largest body whose job the queue surely takes; or give inbox the option overflow`,
    );
  }
}

/** The limit that a transactional store names. Users write stores too, so it is checked. */
export function ownLimitOf(store: Settings["store"]): number | undefined {
  const limit = "process" in store ? store.maxConcurrentDeliveries : undefined;
  return Number.isInteger(limit) && Number(limit) >= 1 ? limit : undefined;
}
