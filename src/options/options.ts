import type { AuthenticDelivery } from "../answer/authentic-delivery.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import type { Handlers } from "../handling/handlers.js";
import { MAX_TIMER_MS } from "../common/timers.js";
import type { IntegerRule } from "../common/option-checks.js";
import type { Logger } from "../answer/logger.js";
import type { OutcomeReport } from "../answer/report.js";
import type { SecretOption } from "../signature/secrets.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";

const HOUR_MS = 3_600_000;

/** Every option that is a whole number: its default and its bounds. settings.ts has the rules between them. */
export const INTEGER_OPTIONS = {
  timestampToleranceMs: { fallback: 300_000, min: 1_000, max: Number.MAX_SAFE_INTEGER },
  // 10 attempts with gaps of up to 4 h span up to 36 h (GATEWAY.md, "Limits"); 72 h leave room for jitter.
  retentionMs: { fallback: 168 * HOUR_MS, min: 72 * HOUR_MS, max: Number.MAX_SAFE_INTEGER },
  leaseMs: { fallback: 30_000, min: 1_000, max: MAX_TIMER_MS },
  handlerTimeoutMs: { fallback: 20_000, min: 1, max: MAX_TIMER_MS },
  handlerMaxMs: { fallback: 900_000, min: 1, max: MAX_TIMER_MS },
  maxConcurrentDeliveries: { fallback: 1_000, min: 1, max: 1_000_000 },
  dependencyTimeoutMs: { fallback: 5_000, min: 1, max: MAX_TIMER_MS },
  maxBodyBytes: { fallback: 1_048_576, min: 1, max: 268_435_456 },
} as const satisfies Record<string, IntegerRule>;

/** The options of the table. */
export type IntegerOption = keyof typeof INTEGER_OPTIONS;

/** Where handled deliveries are remembered. It decides whether handlers are given a transaction. */
type StoreOption<Tx> = [Tx] extends [never]
  ? {
      /**
       * Remembers which deliveries were handled. Default `memoryStore()`: one process, gone with it.
       * With a `TransactionalStore` the handlers are given `context.tx`.
       */
      store?: DeliveryStore | undefined;
    }
  : {
      /** Runs each handler in a transaction of its own, which remembers the delivery as well. */
      store: TransactionalStore<Tx>;
    };

/** What can be set whatever the secret and the store. */
interface IndependentOptions<Tx> {
  /** The handlers; at least one. What `context.tx` is follows from `store` alone. */
  handlers: NoInfer<Handlers<DeliveryContext<Tx>>>;
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
   * 1 000 to 2 147 483 647, default 30 000. A `TransactionalStore` has no leases.
   */
  leaseMs?: number | undefined;
  /**
   * When the gateway is answered 503 although the handler still runs; the handler goes on, and its
   * late success counts. Milliseconds, from 1 to 2 147 483 647, default 20 000.
   */
  handlerTimeoutMs?: number | undefined;
  /**
   * When a handler that has not settled is given up: its lease is no longer renewed, so the next
   * attempt takes over, or its transaction is rolled back; `drain` does not wait for it. Milliseconds,
   * from `handlerTimeoutMs` to 2 147 483 647, default 900 000 (15 minutes) or `handlerTimeoutMs` if
   * that is more.
   */
  handlerMaxMs?: number | undefined;
  /**
   * How many handlers run at once; more deliveries are answered 503 (`overloaded`) with a Retry-After
   * of 10 to 40 seconds. As many calls of a secret function run at once; more wait for their turn. From
   * 1 to 1 000 000, default 1 000, or what the `TransactionalStore` names as its own.
   */
  maxConcurrentDeliveries?: number | undefined;
  /**
   * Bounds the secret function and every call of the store; a claim is bounded by half of `leaseMs`
   * too, and a renewal by a third. Of a `TransactionalStore` it bounds the wait for the transaction to begin, and for it to end
   * after the handler. Milliseconds, from 1 to 2 147 483 647, default 5 000.
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
  /**
   * Called once per authentic request, when its answer is made: one whose signature is good, or with
   * `acceptUnsignedDeliveries` any whose headers are well-formed, which anyone can send. To record it
   * (`recordFixtures` of `/testing`) or to keep an audit. It may throw or reject without effect on the
   * answer, which does not wait for it. What it is shown holds the body: personal data.
   */
  onAuthenticDelivery?: ((delivery: AuthenticDelivery) => unknown) | undefined;
  /**
   * Where warnings and errors go, `false` for nowhere. Default: `console.warn` and `console.error`
   * with one line an entry, which ends in `key=value`.
   */
  logger?: Logger | false | undefined;
  /** The clock for freshness: Unix time in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** What can be set beside the secret. `Tx` is the transaction of a `TransactionalStore<Tx>`. */
export type CommonReceiverOptions<Tx = never> = IndependentOptions<Tx> & StoreOption<Tx>;

/** Options of a receiver that verifies signatures. */
export type SigningReceiverOptions<Tx = never> = CommonReceiverOptions<Tx> & RequiredSecret;

/** By a name, as the compiler's message for a forgotten `secret` would list the fields otherwise. */
interface RequiredSecret {
  /**
   * The secret chosen at webhook registration: one, several during a rotation, one per webhook type,
   * or a function. Typed to take an environment variable as it is; one that is not set is refused.
   */
  secret: SecretOption | undefined;
  acceptUnsignedDeliveries?: false | undefined;
}

/** Options of a receiver that takes any delivery for authentic. */
export type UnsignedReceiverOptions<Tx = never> = CommonReceiverOptions<Tx> & {
  secret?: undefined;
  /** The only way to run without a secret: anyone who finds the URL can then raise alarms. */
  acceptUnsignedDeliveries: true;
};

// The signing ones last: the compiler explains a forgotten `secret` by the last of a union, and must not
// propose to accept unsigned deliveries.
/** Options of `createWebhookReceiver`. All are checked when the receiver is made. */
export type WebhookReceiverOptions<Tx = never> =
  UnsignedReceiverOptions<Tx> | SigningReceiverOptions<Tx>;
