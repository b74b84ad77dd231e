import type { Log } from "../answer/logger.js";
import { beginTrace, type Ending } from "../answer/trace.js";
import type { MaybePromise } from "../common/promises.js";
import { MAX_TIMER_MS, pause, within } from "../common/timers.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import type { HandlerCall } from "../handling/handlers.js";
import {
  isTransactional,
  type Delivery,
  type Handling,
  type HandlingTimes,
} from "../handling/handling.js";
import { LeasedHandling } from "../handling/leased-handling.js";
import { LeaseRenewals } from "../handling/lease-renewals.js";
import { PlaceQueue } from "../handling/place-queue.js";
import { TransactionalHandling } from "../handling/transactional-handling.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { Tally } from "../telemetry/tally.js";
import type { HeldMessage } from "./held-message.js";
import type { QueuedDelivery } from "./inbox-job.js";
import { backend } from "#crypto";

/** How a delivery ended, and whether an earlier run may have had its effect. */
export interface HandledJob extends Ending {
  readonly takeover: boolean;
  /** Whether the handler was called. */
  readonly hasRun: boolean;
}

const COMPLETE_RETRY_MS = 1_000;

/**
 * Handles each job once, by the same leases and transactions as a receiver, under a key of its own. The timer that
 * renews the lease also extends the message, until the store has the completion.
 */
export class JobHandling {
  readonly #handling: Handling;
  /** The connections of a transactional store. */
  readonly #places: PlaceQueue;
  readonly #log: Log;
  readonly #times: Omit<HandlingTimes, "handlerTimeoutMs">;
  readonly #isTransactional: boolean;
  /** The messages whose handlers run, by key. The store lets one run at a time. */
  readonly #held = new Map<string, HeldMessage>();
  /** Those of them whose handlers have succeeded. */
  readonly #handled = new Set<HeldMessage>();

  constructor(
    store: DeliveryStore | TransactionalStore<unknown>,
    given: Omit<HandlingTimes, "handlerTimeoutMs">,
    maxConcurrentDeliveries: number,
    log: Log,
  ) {
    const tally = new Tally(undefined);
    const times = { ...given, handlerTimeoutMs: given.handlerMaxMs };
    this.#places = new PlaceQueue(maxConcurrentDeliveries, { ...given, handlerTimeoutMs: 0 });
    this.#times = given;
    this.#log = log;
    this.#isTransactional = isTransactional(store);
    this.#handling = isTransactional(store)
      ? new TransactionalHandling(store, times, log, tally)
      : new LeasedHandling(
          this.#extending(store),
          // The store below has bounds of its own: a completion may take as long as the message is held.
          { ...times, dependencyTimeoutMs: MAX_TIMER_MS },
          log,
          tally,
        );
  }

  /** Never rejects. */
  async handle(
    { headers, rawBody, recovered }: QueuedDelivery,
    held: HeldMessage,
    { handler, record }: HandlerCall,
  ): Promise<HandledJob> {
    const { id } = headers;
    const key = await jobKeyOf(id);
    const trace = beginTrace({ headers: {}, body: "" }, recovered);
    let hasRun = false;
    const run = (again: unknown, context: DeliveryContext): unknown => {
      hasRun = true;
      this.#held.set(key, held);
      // The handler has the signal of the message, which aborts also when its lease does.
      const abort = () => held.abort(context.signal.reason);
      context.signal.addEventListener("abort", abort, { once: true });
      return handler(again, { ...context, id, signal: held.signal });
    };
    const stopExtending = this.#isTransactional ? this.#startExtending(key, held) : undefined;
    const ending = await this.#handleInPlace({
      headers: { ...headers, id: key },
      rawBody,
      call: { handler: run, record },
      trace,
    });
    stopExtending?.();
    if (this.#held.get(key) === held) this.#held.delete(key);
    this.#handled.delete(held);
    const facts = { takeover: trace.takeover === true, hasRun };
    // Only this process knows that it is handled: without this message, a crash would end that memory.
    const isOpen = ending.outcome === "duplicate" && this.#handling.isCompletionPending(key);
    return isOpen ? { ...facts, outcome: "in_flight" } : { ...facts, ...ending };
  }

  /** Extends a message by the lease. Never rejects: without an answer, the next extension decides. */
  async extend(held: HeldMessage, id: string): Promise<void> {
    await held
      .extend(this.#times.leaseMs)
      .catch((error: unknown) => this.#logFailedExtension(id, error));
  }

  /** Sends the store what it has not taken yet. Never rejects. */
  flush(timeoutMs: number): Promise<void> {
    this.#places.close();
    return this.#handling.flush(Math.min(timeoutMs, this.#times.dependencyTimeoutMs));
  }

  /** A job with a transaction holds a connection until that has ended. */
  async #handleInPlace(delivery: Delivery): Promise<Ending> {
    if (!this.#isTransactional) return this.#handling.handle(delivery);
    const place = await (this.#places.isFree()
      ? this.#places.enter()
      : this.#places.wait(delivery, this.#handling));
    if ("outcome" in place) return place;
    const ending = await this.#handling.handle(delivery);
    void Promise.resolve(ending.late).then(() => this.#places.leave(place));
    return ending;
  }

  /** A transaction has no lease, so its message has a timer alone. */
  #startExtending(key: string, held: HeldMessage): () => void {
    const { leaseMs } = this.#times;
    const renew = () => held.extend(leaseMs);
    const lease = new LeaseRenewals({
      leaseMs,
      renew,
      onFailed: this.#logFailedExtension,
    }).add(key, "", undefined, () => undefined);
    lease.startTimer();
    return () => void lease.stop();
  }

  readonly #logFailedExtension = (id: string, error: unknown): void => {
    this.#log.error("the message of a job could not be extended: retried until it is lost", {
      id,
      error,
    });
  };

  /** The store of the leases: each renewal also extends the message, and a completion is tried until it is lost. */
  #extending(store: DeliveryStore): DeliveryStore {
    const { dependencyTimeoutMs } = this.#times;
    const bounded = <T>(method: keyof DeliveryStore, call: () => MaybePromise<T>): Promise<T> =>
      within(dependencyTimeoutMs, `store.${method}`, (async () => call())());
    return {
      claim: (key, owner, options) => bounded("claim", () => store.claim(key, owner, options)),
      renew: async (key, owner, options) => {
        const held = this.#held.get(key);
        const extending = held?.extend(options.leaseMs);
        extending?.catch(() => undefined);
        try {
          const isHeld = await bounded("renew", () => store.renew(key, owner, options));
          if (!isHeld) return this.#isHandled(held);
        } catch (error) {
          // A store that is away must not cost the message of a handler that has succeeded.
          if (!this.#isHandled(held)) throw error;
        }
        return (await extending) !== false;
      },
      complete: async (key, owner, options) => {
        const held = this.#held.get(key);
        if (held !== undefined) this.#handled.add(held);
        for (;;) {
          try {
            await bounded("complete", () => store.complete(key, owner, options));
            return;
          } catch (error) {
            if (held === undefined || held.isLost) throw error;
            const line = "completion failed: the job is handled, and the completion is retried";
            this.#log.error(line, { id: key, error });
            await pause(COMPLETE_RETRY_MS);
          }
        }
      },
      release: (key, owner) => bounded("release", () => store.release(key, owner)),
    };
  }

  #isHandled(held: HeldMessage | undefined): boolean {
    return held !== undefined && this.#handled.has(held);
  }
}

/** The longest key of a store. */
const MAX_KEY_LENGTH = 128;

/**
 * The key under which a worker claims a delivery. A receiver with the same store completes the delivery id itself as
 * soon as the job is put, so the worker needs another key. No delivery id contains `#`, so no sender can name one.
 */
export async function jobKeyOf(id: string): Promise<string> {
  const key = `job#${id}`;
  // With a second `#`: a short id may be the digest of a long one.
  return key.length <= MAX_KEY_LENGTH
    ? key
    : `job##${await backend.sha256(`identity-gateway-webhooks:delivery:${id}`)}`;
}
