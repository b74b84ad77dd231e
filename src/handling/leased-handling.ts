import type { Ending, Trace } from "../answer/trace.js";
import type { Log } from "../answer/logger.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { HostDeadline } from "../delivery/host-deadline.js";
import { holdOpen } from "../delivery/request.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { Claim, Unfinished } from "./claim.js";
import { Claims } from "./claims.js";
import { createContext, LazySignal } from "./delivery-context.js";
import type { Delivery, Handling, HandlingTimes } from "./handling.js";
import type { LeaseRenewal } from "./lease-renewals.js";
import { runHandler, startHandlerTimers, type HandlerResult } from "./run-handler.js";

/** The reason of `context.signal` when another process may be handling the same delivery. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
  /** Stable, so that code can branch on it. */
  readonly code = "lease_lost";

  constructor() {
    super("the lease on this delivery is lost: another process may be handling it");
  }
}

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
  readonly #times: HandlingTimes;
  readonly #log: Log;

  constructor(store: DeliveryStore, times: HandlingTimes, log: Log) {
    this.#claims = new Claims(store, times, log);
    this.#times = times;
    this.#log = log;
  }

  handle(delivery: Delivery): ValueOrPromise<Ending> {
    const claim = this.#claims.claim(delivery.headers.id, delivery.trace.deadline);
    return "then" in claim ? this.#handleLater(delivery, claim) : this.#handle(delivery, claim);
  }

  flush(timeoutMs: number): Promise<void> {
    return this.#claims.flush(timeoutMs);
  }

  #handleLater(delivery: Delivery, claiming: Promise<Claim>): Promise<Ending> {
    return claiming.then((claim) => this.#handle(delivery, claim));
  }

  #handle(delivery: Delivery, claim: Claim): ValueOrPromise<Ending> {
    switch (claim.state) {
      case "completed":
        return { outcome: "duplicate" };
      case "in_flight":
        return { outcome: "in_flight", retryAfterMs: claim.retryAfterMs };
      case "unavailable":
        return { outcome: "store_unavailable", error: claim.error, unfinished: claim.unfinished };
      case "claimed":
        return this.#run(delivery, claim);
    }
  }

  #run(delivery: Delivery, claim: GrantedClaim): ValueOrPromise<Ending> {
    const { headers, rawBody, call, trace } = delivery;
    const { id, type, timestampMs } = headers;
    const { takeover, owner } = claim;
    if (takeover) trace.takeover = true;
    const signal = new LazySignal();
    const timestamp = new Date(timestampMs);
    const context = createContext(id, type, timestamp, rawBody, takeover, signal);
    const result = runHandler(call, context);
    if ("then" in result) return this.#answerInTime(delivery, claim, signal, result);
    const settled = this.#settle(id, owner, result, trace.deadline);
    if (!("then" in settled) || !isDone(result)) return settled;
    // No other process may take over while the store remembers the success.
    const renewal = this.#claims.renewals.start(id, owner, claim.leasedAt, () => undefined);
    return settled.then(stopping(renewal, trace));
  }

  /**
   * Resolves when the handler and then its claim have settled. After `handlerTimeoutMs` it resolves to
   * `handler_timeout`: the handler goes on, and `late` of the ending says how it ends. With a deadline it
   * resolves to `handler_timeout` only there, and the handler is given up.
   */
  #answerInTime(
    { headers: { id, type }, trace }: Delivery,
    { owner, leasedAt }: GrantedClaim,
    signal: LazySignal,
    result: Promise<HandlerResult>,
  ): Promise<Ending> {
    return new Promise((answer, fail) => {
      const { deadline } = trace;
      let isRunning = true;
      let endLate: ((ending: Ending) => void) | undefined;
      const renewal = this.#claims.renewals.start(id, owner, leasedAt, () => {
        // The store also refuses a renewal after the completion, but then the handler is done.
        if (isRunning) LazySignal.abort(signal, new LeaseLostError());
      });
      const stop = stopping(renewal, trace);
      const stopTimers = startHandlerTimers(
        this.#times,
        deadline,
        (error) => {
          LazySignal.abort(signal, error);
          if (deadline !== undefined) return;
          const late = new Promise<Ending>((resolve) => (endLate = resolve));
          answer({ outcome: "handler_timeout", error, late });
        },
        (error) => {
          // Not released: the handler may still be at work, so the next attempt waits for the lease's end.
          // Without a deadline the gateway has been answered before.
          answer(stop({ outcome: "handler_timeout", error }));
          endLate?.({ outcome: "handler_failed", error });
          endLate = ({ outcome, error: late }) => {
            const line = `${outcome}, but after it was given up: it may have run twice`;
            this.#log.warn(line, { id, type, error: late });
          };
        },
      );
      const settled = result.then((value) => {
        isRunning = false;
        stopTimers();
        const isGivenUp = deadline !== undefined && endLate !== undefined;
        // The platform freezes a store call that begins now, and the lease may be another owner's later.
        if (isGivenUp && !isDone(value)) return value;
        // A success stays leased until the store remembers it. A failure is not renewed while it is
        // released.
        if (!isDone(value)) void renewal.stop();
        const settling = this.#settle(id, owner, value, deadline);
        if (!("then" in settling)) return stop(settling);
        if (isGivenUp) holdOpen(trace, settling);
        return settling.then(stop);
      });
      settled.then(
        (ending) => {
          if (endLate === undefined) answer(ending);
          else endLate(ending);
        },
        (error: unknown) => {
          fail(error);
          endLate?.({ outcome: "internal_error", error });
        },
      );
    });
  }

  /** Completes the claim of a success, and releases that of a failure for the next attempt. */
  #settle(
    id: string,
    owner: string,
    result: HandlerResult,
    deadline: HostDeadline | undefined,
  ): ValueOrPromise<Ending> {
    if (!isDone(result)) {
      const released = this.#claims.release(id, owner);
      return released === undefined ? result : released.then(() => result);
    }
    const completed = this.#claims.complete(id, owner, deadline);
    if (completed === undefined) return result;
    return "then" in completed ? endingAfter(completed, result) : endingOf(result, completed);
  }
}

/** Whether the delivery needs no further attempt. */
function isDone({ outcome }: HandlerResult): boolean {
  return outcome === "handled" || outcome === "discarded";
}

/** The result as an ending, with what the store has not taken yet. */
function endingOf(result: HandlerResult, unfinished: Unfinished | undefined): Ending {
  return unfinished === undefined ? result : { ...result, unfinished: unfinished.work };
}

function endingAfter(
  completed: Promise<Unfinished | undefined>,
  result: HandlerResult,
): Promise<Ending> {
  return completed.then((unfinished) => endingOf(result, unfinished));
}

/** Stops the renewal when the claim has settled. A renewal that is on its way goes on after the answer. */
function stopping(renewal: LeaseRenewal, trace: Trace): (ending: Ending) => Ending {
  return (ending) => {
    holdOpen(trace, renewal.stop());
    return ending;
  };
}
