import { GatewayWebhookError } from "../common/errors.js";
import type { Log } from "../answer/logger.js";
import { dueAfterMs, type Ending } from "../answer/trace.js";
import type { ValueOrPromise } from "../common/promises.js";
import { ShortTimer, type DeadlineError } from "../common/timers.js";
import { holdOpen, type HostDeadline } from "../delivery/request.js";
import type { Claims } from "./claims.js";
import { LazySignal } from "./delivery-context.js";
import { limitsOf, startHandlerTimers, type HandlerTimes } from "./handler-timers.js";
import type { Delivery } from "./handling.js";
import type { RenewedLease } from "./lease-renewals.js";
import type { HandlerResult } from "./run-handler.js";

/**
 * What becomes of a run's ending. `answering`: it is the answer. `late`: the answer was `handler_timeout`, and it
 * is the late report. `given_up`: both are made, and it is only a log line. `settled`: the handler has ended.
 */
type RunState = "answering" | "late" | "given_up" | "settled";

/** An asynchronous handler that runs under a lease, from its call until its claim has settled. */
export class LeasedRun {
  readonly #claims: Claims;
  readonly #log: Log;
  readonly #delivery: Delivery;
  readonly #owner: string;
  readonly #signal: LazySignal;
  readonly #limits: HandlerTimes;
  readonly #lease: RenewedLease;
  #timer: ShortTimer | undefined;
  #stopHandlerTimers: (() => void) | undefined;
  #state: RunState = "answering";
  /** Another run may have taken the lease over. */
  #isLost = false;
  #answer: ((ending: Ending) => void) | undefined;
  #reportLate: ((ending: Ending) => void) | undefined;

  constructor(
    claims: Claims,
    times: HandlerTimes,
    log: Log,
    delivery: Delivery,
    { owner, leasedAt }: { readonly owner: string; readonly leasedAt: number },
    signal: LazySignal,
  ) {
    this.#claims = claims;
    this.#log = log;
    this.#delivery = delivery;
    this.#owner = owner;
    this.#signal = signal;
    const { deadline } = delivery.trace;
    this.#limits = deadline === undefined ? times : limitsOf(times, deadline);
    this.#lease = claims.renewals.add(delivery.headers.id, owner, leasedAt, () => {
      // The store also refuses a renewal after the completion, but then the handler is done.
      if (this.#state === "settled") return;
      this.#isLost = true;
      const message = "the lease on this delivery is lost: another process may be handling it";
      LazySignal.abort(signal, new GatewayWebhookError("lease_lost", message));
    });
  }

  /**
   * Resolves when the handler and then its claim have settled. When the answer is due before, it resolves to
   * `handler_timeout`: the handler goes on, and `late` of the ending says how it ends. With a deadline it
   * resolves to `handler_timeout` only there, and the handler is given up.
   */
  answerInTime(result: Promise<HandlerResult>): Promise<Ending> {
    return new Promise((answer, fail) => {
      this.#answer = answer;
      this.#startTimer();
      // A callback, because the promises of an async function take 4 % of a delivery without I/O.
      void result.then((ended) => {
        try {
          this.#settle(ended, fail);
        } catch (error) {
          fail(error);
        }
      });
    });
  }

  /**
   * Most handlers settle before the answer is due and before the first renewal. Until the nearer of both, one
   * timer serves both. One timer for all runs would be faster still, but the listeners of a signal and the renewals
   * would then run in the async context of another delivery, and Workers end a timer together with the request that
   * started it.
   */
  #startTimer(): void {
    const { aliveAt: startedAt, firstRenewalMs } = this.#lease;
    const dueMs = dueAfterMs(this.#delivery.trace, this.#limits.handlerTimeoutMs, startedAt);
    const ms = Math.min(dueMs, firstRenewalMs);
    this.#timer = new ShortTimer(ms, () => {
      this.#lease.startTimer();
      if (this.#state === "settled") return;
      // More than `ms` after a pause of the process; less where a test replaces only the timers.
      const elapsedMs = Math.max(ms, performance.now() - startedAt);
      this.#stopHandlerTimers = startHandlerTimers(this.#limits, dueMs, elapsedMs, {
        onDue: (error) => this.#answerLate(error),
        onTimeout: (error) => LazySignal.abort(this.#signal, error),
        onGivenUp: (error) => this.#giveUp(error),
      });
    });
  }

  #answerLate(error: DeadlineError): void {
    if (this.#delivery.trace.deadline !== undefined) return;
    this.#state = "late";
    const late = new Promise<Ending>((reportLate) => (this.#reportLate = reportLate));
    this.#end("answering", { outcome: "handler_timeout", error, late });
  }

  /** Released only if the handler settles: it may still be at work, so the next attempt waits for the lease's end. */
  #giveUp(error: DeadlineError): void {
    const state = this.#state;
    const { trace } = this.#delivery;
    this.#state = "given_up";
    holdOpen(trace, this.#lease.stop());
    // Without a deadline the gateway has been answered before.
    const outcome = trace.deadline === undefined ? "handler_failed" : "handler_timeout";
    this.#end(state, { outcome, error });
  }

  /** Ends the claim of a handler that has settled. `fail` gets what no one foresaw, which must not end the process. */
  #settle(result: HandlerResult, fail: (error: unknown) => void): void {
    const { headers, trace } = this.#delivery;
    const state = this.#state;
    const isTooLate = state === "given_up";
    this.#isLost ||= performance.now() >= this.#lease.endsAt;
    this.#state = "settled";
    this.#stopHandlerTimers?.();
    // Of one that is lost too nothing is left to release, and a platform may freeze a store call that begins now.
    if (isTooLate && this.#isLost && !isDone(result)) {
      this.#finish(state, result);
      return;
    }
    // A success stays leased until the store remembers it. A failure is not renewed while it is released.
    if (!isDone(result)) void this.#lease.stop();
    const settling = settleClaim(this.#claims, headers.id, this.#owner, result, trace.deadline);
    if (!("then" in settling)) {
      this.#finish(state, settling);
      return;
    }
    if (isTooLate) holdOpen(trace, settling);
    settling.then((ending) => this.#finish(state, ending)).catch(fail);
  }

  #finish(state: RunState, ending: Ending): void {
    holdOpen(this.#delivery.trace, this.#lease.stop());
    this.#timer?.stop();
    this.#end(state, ending);
  }

  /** Takes the ending of a run that was in `state`. */
  #end(state: RunState, ending: Ending): void {
    if (state === "answering") this.#answer?.(ending);
    else if (state === "late") this.#reportLate?.(ending);
    if (this.#state !== "settled" || (state !== "given_up" && !this.#isLost)) return;
    const { id, type } = this.#delivery.headers;
    const when = state === "given_up" ? ", but after it was given up" : "";
    const fate = this.#isLost ? "it may have run twice" : "it has stopped";
    this.#log.warn(ending.outcome + when + ": " + fate, { id, type, error: ending.error });
  }
}

/** Whether the delivery needs no further attempt. */
export function isDone({ outcome }: HandlerResult): boolean {
  return outcome === "handled" || outcome === "discarded";
}

/**
 * Completes the claim of a success, and releases that of a failure for the next attempt. The ending has what the store
 * has not taken yet. Neither throws nor rejects.
 */
export function settleClaim(
  claims: Claims,
  id: string,
  owner: string,
  result: HandlerResult,
  deadline: HostDeadline | undefined,
): ValueOrPromise<Ending> {
  const settled = claims.settlements.settle(
    isDone(result) ? "complete" : "release",
    id,
    owner,
    deadline,
  );
  if (settled === undefined) return result;
  if (!("then" in settled)) return { ...result, unfinished: settled.work };
  return settled.then((unfinished) =>
    unfinished === undefined ? result : { ...result, unfinished: unfinished.work },
  );
}
