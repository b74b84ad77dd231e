import { LONGEST_RETRIES_MS } from "../common/gateway-facts.js";
import type { WebhookLogger } from "../answer/logger.js";
import type { AuthenticDelivery, OutcomeReport } from "../answer/observers.js";
import type { UnverifiableOption } from "../answer/outcome.js";
import type { IntegerRule } from "../common/option-checks.js";
import { MAX_TIMER_MS } from "../common/timers.js";
import type { WebhookType } from "../delivery/headers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import type { WebhookHandlers } from "../handling/handlers.js";
import type { OnceOption } from "../handling/once-per-record.js";
import type { SecretOption } from "../signature/secrets.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import type { Duration } from "../telemetry/expect-every.js";
import type { WebhookTelemetry } from "../telemetry/telemetry.js";

const HOUR_MS = 3_600_000;

/** Default and bounds of every option that is a whole number. Rules between options are in settings.ts. */
export const INTEGER_OPTIONS = {
  timestampToleranceMs: { fallback: 300_000, min: 1_000, max: Number.MAX_SAFE_INTEGER },
  // Twice as long as the gateway may retry, which leaves room for jitter.
  retentionMs: {
    fallback: 168 * HOUR_MS,
    min: 2 * LONGEST_RETRIES_MS,
    max: Number.MAX_SAFE_INTEGER,
  },
  leaseMs: { fallback: 30_000, min: 1_000, max: MAX_TIMER_MS },
  handlerTimeoutMs: { fallback: 20_000, min: 1, max: MAX_TIMER_MS },
  handlerMaxMs: { fallback: 900_000, min: 1, max: MAX_TIMER_MS },
  maxConcurrentDeliveries: { fallback: 1_000, min: 1, max: 1_000_000 },
  dependencyTimeoutMs: { fallback: 5_000, min: 1, max: MAX_TIMER_MS },
  maxBodyBytes: { fallback: 1_048_576, min: 1, max: 268_435_456 },
} as const satisfies Record<string, IntegerRule>;

/** The options in the table. */
export type IntegerOption = keyof typeof INTEGER_OPTIONS;

/** The options that depend neither on the secret nor on the shape of the store. */
interface BaseOptions<Tx> {
  /** The handlers; at least one. The type of `context.tx` follows from `store` alone. */
  handlers: NoInfer<WebhookHandlers<DeliveryContext<Tx>>>;
  /**
   * How far X-Webhook-Timestamp may differ from `now`, in both directions. Milliseconds, from 1 000 to
   * `retentionMs`, default 300 000 (5 minutes).
   */
  timestampToleranceMs?: number | undefined;
  /**
   * How long a handled id is remembered. Milliseconds, at least 72 hours (the gateway's attempts span
   * up to 36 hours, more with jitter) and at least the tolerance, default 7 days.
   */
  retentionMs?: number | undefined;
  /**
   * How long a claim holds without renewal; it is renewed while the handler runs. Milliseconds, from
   * 1 000 to 2 147 483 647, default 30 000. A `TransactionalStore` has no leases.
   */
  leaseMs?: number | undefined;
  /**
   * The gateway is answered 503 this long after the delivery arrived, although the handler still runs; a wait
   * for a place is part of it. `context.signal` aborts this long after the handler's start. The handler goes
   * on, and its late success counts. With `lambdaHandler` the gateway is answered
   * when the handler settles. Milliseconds, from 1 to 2 147 483 647, default 20 000.
   */
  handlerTimeoutMs?: number | undefined;
  /**
   * After this time a handler that has not settled is given up: its lease is no longer renewed, so the
   * next attempt takes over, or its transaction is rolled back. `drain` does not wait for it.
   * Milliseconds, from `handlerTimeoutMs` to 2 147 483 647, default 900 000 (15 minutes), or
   * `handlerTimeoutMs` if that is longer.
   */
  handlerMaxMs?: number | undefined;
  /**
   * How many handlers run at once. More deliveries wait for a place, first come, first served: until
   * `handlerTimeoutMs` after they arrived, less the median of recent deliveries, and at least half of
   * `dependencyTimeoutMs`. Bodies of 64 MiB wait, a small one counts as 4 KiB. Then they are answered 503
   * (`overloaded`) with a `Retry-After` of 10 to 40 seconds. From 1 to 1 000 000, default 1 000, and never
   * more than the `TransactionalStore` names.
   */
  maxConcurrentDeliveries?: number | undefined;
  /** What is handled once; see `OnceOption`. Other than `"delivery"` it needs a secret. */
  once?: OnceOption | undefined;
  /**
   * Bounds the secret function and every call of the store. A claim is also bounded by half of `leaseMs`,
   * a renewal by a third. With a `TransactionalStore` it bounds the time until the transaction begins,
   * and until it ends after the handler. Milliseconds, from 1 to 2 147 483 647, default 5 000.
   */
  dependencyTimeoutMs?: number | undefined;
  /** The largest body that is read. Bytes, from 1 to 268 435 456, default 1 048 576 (1 MiB). */
  maxBodyBytes?: number | undefined;
  /**
   * What requests are answered that cannot be verified; see `UnverifiableOption`. Default `"retry"`: the gateway sends
   * them again. `"reject"`, for all or for one outcome, loses the deliveries that a wrong secret or clock refuses.
   */
  unverifiable?: UnverifiableOption | undefined;
  /** Called once per request. It may throw or reject without effect on the answer. */
  onOutcome?: ((report: OutcomeReport) => unknown) | undefined;
  /**
   * Called once per authentic request, when its answer is made. A request is authentic if its signature
   * is good; with `acceptUnsignedDeliveries`, if its headers are well-formed, and anyone can send those.
   * Use it to record deliveries (`recordFixtures` of `/testing`) or to keep an audit. It may throw or
   * reject without effect on the answer, which does not wait for it. It gets the body: personal data.
   */
  onAuthenticDelivery?: ((delivery: AuthenticDelivery) => unknown) | undefined;
  /**
   * Sees each request, and runs around each handler: `openTelemetry()` of `/opentelemetry`, or your own. It
   * cannot change an answer. Default: none.
   */
  telemetry?: WebhookTelemetry | undefined;
  /**
   * How often a delivery of each type comes at least, as the gateway's traffic of your accounts has it: `{
   * new_alarm: "6h" }`. `receiver.health()` is `failing` if none was acknowledged for longer, or since the
   * start. A number of milliseconds, or of seconds (`"90s"`), minutes, hours or days (`"1d"`); from 1 second
   * to 1 day, because each start of a process begins a silence anew. Each counts what it receives itself. Default:
   * nothing is expected.
   */
  expectEvery?: Readonly<Partial<Record<WebhookType, Duration | undefined>>> | undefined;
  /**
   * Where warnings and errors go; `false` for nowhere. Default: `console.warn` and `console.error`, one
   * line an entry, which ends in `key=value`.
   */
  logger?: WebhookLogger | false | undefined;
  /** The clock for freshness: Unix time in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Where handled deliveries are remembered. It decides whether handlers get a transaction. */
type StoreChoice<Tx> = [Tx] extends [never]
  ? {
      /**
       * Remembers which deliveries were handled. Default `memoryStore()`, which knows only this process
       * and ends with it. With a `TransactionalStore` the handlers get `context.tx`.
       */
      store?: DeliveryStore | undefined;
    }
  : {
      /** Runs each handler in a transaction of its own, which also remembers the delivery. */
      store: TransactionalStore<Tx>;
    };

/**
 * Stands before `SecretChoice`, here and by its name: the compiler explains a forgotten `secret` by the last member of
 * a union, in the order in which it meets the types, or of their names. It must not propose to accept unsigned
 * deliveries.
 */
interface AcceptUnsigned {
  secret?: undefined;
  /** The only way to run without a secret: anyone who finds the URL can then raise alarms. */
  acceptUnsignedDeliveries: true;
}

/** A named type: otherwise the compiler's message for a forgotten `secret` would list the fields. */
interface SecretChoice {
  /**
   * The secret chosen at webhook registration: one, several during a rotation, one per webhook type, or
   * a function. The type admits undefined so that an environment variable needs no cast; an undefined
   * secret is refused.
   */
  secret: SecretOption | undefined;
  acceptUnsignedDeliveries?: false | undefined;
}

/**
 * Options of `createWebhookReceiver`, all checked when the receiver is made. `secret` and `handlers` are
 * required. `Tx` is the transaction of a `TransactionalStore<Tx>`.
 *
 * @example
 * const options: WebhookReceiverOptions = {
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: { new_alarm: async (alarm) => notify(alarm.account_id) },
 * };
 */
export type WebhookReceiverOptions<Tx = never> = BaseOptions<Tx> &
  StoreChoice<Tx> &
  (AcceptUnsigned | SecretChoice);

/** Options of `drain`. */
export interface DrainOptions {
  /**
   * The longest wait. Milliseconds. Default: until all deliveries have settled or are given up after
   * `handlerMaxMs`. A value that is not a number counts as left out.
   */
  timeoutMs?: number | undefined;
}

/** How `drain` ended. */
export interface DrainResult {
  /** Whether all deliveries have settled. */
  readonly idle: boolean;
  /**
   * How many deliveries have not settled. If the process ends now, each of them is handled again: after
   * its lease has ended, or its transaction was rolled back.
   */
  readonly running: number;
}

/** How long `drain` may take. Never throws for an ordinary value: a shutdown must go on. */
export function drainTimeoutOf(options: DrainOptions | null | undefined): number {
  const timeoutMs: unknown = options?.timeoutMs;
  return typeof timeoutMs === "number" && !Number.isNaN(timeoutMs) ? timeoutMs : Infinity;
}
