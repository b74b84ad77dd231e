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
  /** The handlers, at least one. The type of `context.tx` follows from `store` alone. */
  handlers: NoInfer<WebhookHandlers<DeliveryContext<Tx>>>;
  /**
   * How far X-Webhook-Timestamp may differ from `now`, in both directions; beyond it the answer is `stale`.
   * Milliseconds, from 1 000 to `retentionMs`. Default 300 000 (5 minutes).
   */
  timestampToleranceMs?: number | undefined;
  /**
   * How long a handled id is remembered. Milliseconds, at least 259 200 000 (72 hours: the gateway's attempts span
   * up to 36) and at least the tolerance. Default 604 800 000 (7 days).
   */
  retentionMs?: number | undefined;
  /**
   * How long a claim holds; it is renewed while the handler runs. If the process dies, another takes over after this
   * time. Milliseconds, from 1 000 to 2 147 483 647. A `TransactionalStore` has no leases. Default 30 000.
   */
  leaseMs?: number | undefined;
  /**
   * The gateway is answered 503 this long after the delivery arrived, while the handler goes on: its late success
   * counts. `context.signal` aborts this long after the handler's start. `lambdaHandler` answers when the handler
   * settles. Milliseconds, from 1 to 2 147 483 647. Default 20 000.
   */
  handlerTimeoutMs?: number | undefined;
  /**
   * A handler that still runs this long after its start is given up: the next attempt takes over, or its transaction
   * is rolled back. `drain` does not wait for it. Milliseconds, from `handlerTimeoutMs` to 2 147 483 647. Default
   * 900 000 (15 minutes), or `handlerTimeoutMs` if that is longer.
   */
  handlerMaxMs?: number | undefined;
  /**
   * How many handlers run at once. More deliveries wait for a place, first come, first served, until
   * `handlerTimeoutMs` less the median of recent deliveries, and at least half of `dependencyTimeoutMs`; at most 64
   * MiB of bodies wait, each counted as 4 KiB or more. Then the answer is 503 `overloaded`, with a `Retry-After` of
   * 10 to 40 seconds. From 1 to 1 000 000, and at most what the `TransactionalStore` has connections for. Default 1
   * 000.
   */
  maxConcurrentDeliveries?: number | undefined;
  /**
   * What is handled once: `"delivery"`, each X-Webhook-Id; `"record"`, each alarm and event as well; or a function
   * of `{ type, record }` that returns the text of that key. `{ record, scope }`, with true or the function as
   * `record`, keeps receivers on one store apart. Other than `"delivery"` it needs a secret and a `DeliveryStore`.
   * Default `"delivery"`.
   */
  once?: OnceOption | undefined;
  /**
   * The longest that the secret function or a call of the store may take; a claim also at most half of `leaseMs`, a
   * renewal a third. With a `TransactionalStore` it bounds the time until the transaction begins, and until it ends
   * after the handler. Milliseconds, from 1 to 2 147 483 647. Default 5 000.
   */
  dependencyTimeoutMs?: number | undefined;
  /** The largest body that is read. Bytes, from 1 to 268 435 456. Default 1 048 576 (1 MiB). */
  maxBodyBytes?: number | undefined;
  /**
   * How to answer requests that cannot be verified: `"retry"` makes the gateway send them again; `"reject"`, for all or
   * for one outcome as in `{ unsigned: "reject" }`, answers 400, 401 and 413, on which the gateway gives up for good.
   * Default `"retry"`.
   */
  unverifiable?: UnverifiableOption | undefined;
  /**
   * Called once per request, and again with `late: true` when a handler settles after `handler_timeout`. It may
   * throw or reject without effect on the answer.
   */
  onOutcome?: ((report: OutcomeReport) => unknown) | undefined;
  /**
   * Called once per request with a good signature, when its answer is made; with `acceptUnsignedDeliveries`, with
   * well-formed headers, which anyone can send. Use it to record deliveries (`recordFixtures` of `/testing`) or for
   * an audit. It gets the body: personal data. The answer does not wait for it, and it may throw or reject.
   */
  onAuthenticDelivery?: ((delivery: AuthenticDelivery) => unknown) | undefined;
  /**
   * Sees each request and runs around each handler: `openTelemetry()` of `/opentelemetry`, or your own. It cannot
   * change an answer.
   */
  telemetry?: WebhookTelemetry | undefined;
  /**
   * The longest quiet time of each type, such as `{ new_alarm: "6h" }`: after a longer one, `receiver.health()` is
   * `failing`. Milliseconds, or `"90s"`, `"30m"`, `"6h"`, `"1d"`; from 1 second to 1 day, because each start of a
   * process begins a silence anew. Each process counts what it receives itself.
   */
  expectEvery?: Readonly<Partial<Record<WebhookType, Duration | undefined>>> | undefined;
  /**
   * Where warnings and errors go: `{ warn, error }`, or `false` for nowhere. Default the console, one line an entry.
   */
  logger?: WebhookLogger | false | undefined;
  /** The clock that timestamps are compared with: Unix time in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Where handled deliveries are remembered. It decides whether handlers get a transaction. */
type StoreChoice<Tx> = [Tx] extends [never]
  ? {
      /**
       * Remembers which deliveries were handled. With a `TransactionalStore` the handlers get `context.tx`. Default
       * `memoryStore()`, which knows only this process and ends with it.
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
   * The secret of the webhook: a string, a list during a rotation, one of these for each webhook type, or a function of
   * `{ type }`, sync or async. An undefined secret is refused; the type admits it so that an environment variable needs
   * no cast.
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
