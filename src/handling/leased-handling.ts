import type { Log } from "../answer/logger.js";
import type { Ending } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import { holdOpen } from "../delivery/request.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import { StoreCalls, type Tally } from "../telemetry/tally.js";
import { Claims, type Claim } from "./claims.js";
import { createContext, LazySignal } from "./delivery-context.js";
import type { Delivery, Handling, HandlingOptions } from "./handling.js";
import { isDone, LeasedRun, settleClaim } from "./leased-run.js";
import { TwoKeyStore } from "./once-per-record.js";
import { runDelivery } from "./run-handler.js";

/** A claim that was granted. */
type GrantedClaim = Extract<Claim, { state: "claimed" }>;

/**
 * Handling with a `DeliveryStore`: claim the delivery, run the handler while the lease is renewed, then
 * complete or release the claim.
 *
 * Each step returns a plain value if it can, and code that waits is in a separate method. So a delivery
 * with a synchronous store and handler makes no promise and no closure here.
 */
export class LeasedHandling implements Handling {
  readonly #claims: Claims;
  readonly #times: HandlingOptions;
  readonly #log: Log;
  /** Undefined if the delivery id alone decides. */
  readonly #recordKeys: HandlingOptions["recordKeys"];

  constructor(store: DeliveryStore, times: HandlingOptions, log: Log, tally: Tally) {
    const { recordKeys } = times;
    this.#recordKeys = recordKeys;
    const keyed = recordKeys === undefined ? store : new TwoKeyStore(store);
    this.#claims = new Claims(keyed, times, log, new StoreCalls(tally));
    this.#times = times;
    this.#log = log;
  }

  handle(delivery: Delivery): ValueOrPromise<Ending> {
    const { headers, trace } = delivery;
    const claim =
      this.#recordKeys === undefined
        ? this.#claims.claim(headers.id, trace.deadline)
        : this.#claimBoth(delivery, this.#recordKeys);
    return "then" in claim ? this.#handleLater(delivery, claim) : this.#handle(delivery, claim);
  }

  isRunning(id: string): boolean {
    return this.#claims.renewals.isAlive(id);
  }

  flush(timeoutMs: number): Promise<void> {
    return this.#claims.settlements.flush(timeoutMs);
  }

  completionsPending(): number {
    return this.#claims.settlements.completions.size();
  }

  isCompletionPending(id: string): boolean {
    return this.#claims.settlements.isHandled(id);
  }

  async #claimBoth(
    delivery: Delivery,
    keys: NonNullable<HandlingOptions["recordKeys"]>,
  ): Promise<Claim> {
    const recordKey = await keys.keyOf(delivery);
    return this.#claims.claim(delivery.headers.id, delivery.trace.deadline, recordKey);
  }

  #handleLater(delivery: Delivery, claiming: Promise<Claim>): Promise<Ending> {
    return claiming.then((claim) => this.#handle(delivery, claim));
  }

  #handle(delivery: Delivery, claim: Claim): ValueOrPromise<Ending> {
    if (claim.state !== "claimed") return refusalOf(claim);
    const { headers, rawBody, trace } = delivery;
    const { id, type } = headers;
    // Before the handler, which may block the process.
    const { takeover, owner, leasedAt = performance.now() } = claim;
    if (takeover) {
      trace.takeover = true;
      this.#log.warn("taken over: it may have run twice", { id, type });
    }
    const signal = new LazySignal();
    const context = createContext(headers, rawBody, takeover, signal);
    const result = runDelivery(delivery, context);
    if ("then" in result) {
      const lease = { owner, leasedAt };
      const run = new LeasedRun(this.#claims, this.#times, this.#log, delivery, lease, signal);
      return run.answerInTime(result);
    }
    if (performance.now() - leasedAt >= this.#times.leaseMs) {
      const line = `${result.outcome}: it may have run twice, since it blocked the process for longer than its lease`;
      this.#log.warn(line, { id, type });
    }
    const settled = settleClaim(this.#claims, id, owner, result, trace.deadline);
    if (!("then" in settled) || !isDone(result)) return settled;
    return this.#keepLease(delivery, owner, leasedAt, settled);
  }

  /** No other process may take over while the store remembers a success. */
  #keepLease(
    { headers, trace }: Delivery,
    owner: string,
    leasedAt: number,
    settled: Promise<Ending>,
  ): Promise<Ending> {
    const lease = this.#claims.renewals.add(headers.id, owner, leasedAt, () => undefined);
    lease.startTimer();
    return settled.then((ending) => {
      holdOpen(trace, lease.stop());
      return ending;
    });
  }
}

function refusalOf(claim: Exclude<Claim, GrantedClaim>): Ending {
  switch (claim.state) {
    case "completed":
      return { outcome: "duplicate", sameRecord: claim.sameRecord };
    case "in_flight":
      return {
        outcome: "in_flight",
        retryAfterMs: claim.retryAfterMs,
        sameRecord: claim.sameRecord,
      };
    case "unavailable":
      return { outcome: "store_unavailable", error: claim.error, unfinished: claim.unfinished };
  }
}
