import { overloaded } from "../answer/endings.js";
import { isDisconnected, type Ending, type Trace } from "../answer/trace.js";
import { ConcurrencyLimit, type Slot } from "../common/concurrency-limit.js";
import type { ValueOrPromise } from "../common/promises.js";
import { isOnWorkers } from "../common/runtime.js";
import type { HandlerTimes } from "./handler-timers.js";
import type { Delivery, Handling } from "./handling.js";

/** How many bytes of bodies wait at once. */
const MAX_WAITING_BYTES = 64 * 1_048_576;
/** What a waiting delivery counts at least: its request takes memory beside the body. */
const MIN_BYTES = 4_096;
/** The median is that of so many deliveries. */
const RECENT = 31;

/** A delivery that waits. */
interface Waiting {
  readonly delivery: Delivery;
  /** It may wait until then, however long handlers take. By `performance.now()`. */
  readonly leastUntil: number;
  /** Takes the delivery out of the queue. */
  readonly leave: (result: Slot | Ending) => void;
}

/**
 * The places of deliveries that are handled at once: slots of `maxConcurrentDeliveries`, or connections of a
 * transactional store. A delivery takes one, or waits until one is free: first come, first served, as long as its
 * handler may still end before the answer is due.
 */
export class PlaceQueue {
  readonly #limit: ConcurrencyLimit;
  readonly #handlerTimeoutMs: number;
  readonly #minWaitMs: number;
  readonly #waiting = new Set<Waiting>();
  /** How long the last deliveries had their places, in milliseconds. */
  readonly #recent: number[] = [];
  /** How many have left their places. */
  #left = 0;
  #waitingBytes = 0;
  #isClosed = false;

  /** With a `handlerTimeoutMs` of 0 a delivery waits for half of `dependencyTimeoutMs`. */
  constructor(places: number, times: HandlerTimes & { readonly dependencyTimeoutMs: number }) {
    const { handlerTimeoutMs, handlerMaxMs, dependencyTimeoutMs } = times;
    // A handler that is given up has left its place by then, unless its timers are never called. The four: begin and
    // end of two transactions, or claim, overdue lease, completion and one to spare.
    this.#limit = new ConcurrencyLimit(places, handlerMaxMs + 4 * dependencyTimeoutMs);
    this.#handlerTimeoutMs = handlerTimeoutMs;
    this.#minWaitMs = dependencyTimeoutMs / 2;
  }

  /** Whether a delivery that comes now gets a place at once. */
  isFree(): boolean {
    if (this.#waiting.size > 0) this.#admit();
    return !this.#limit.isReached();
  }

  /**
   * Takes a place, which is in use until `leave`. Call it only when `isFree` is true. `since`: from when on, by
   * `performance.now()`; default now.
   */
  enter(since?: number): Slot {
    return this.#limit.enter(since);
  }

  /**
   * Waits for a place, which the trace gets too, or tells how a delivery without one ends. Call it only when
   * `isFree` is false.
   */
  wait(delivery: Delivery, handling: Handling): ValueOrPromise<Slot | Ending> {
    const { headers, trace } = delivery;
    if (handling.isRunning(headers.id)) return { outcome: "in_flight" };
    if (this.#isClosed) return { outcome: "draining" };
    const bytes = Math.max(trace.bytes, MIN_BYTES);
    const isFull = (): boolean => this.#waitingBytes + bytes > MAX_WAITING_BYTES;
    if (isFull()) this.#dropDisconnected();
    const now = performance.now();
    const leastUntil = now + this.#minWaitMs;
    const ownMs = this.#until(trace, leastUntil) - now;
    const waitMs = trace.deadline?.handlerMs(ownMs) ?? ownMs;
    // On Cloudflare Workers a request must not wait for what another one does.
    if (isFull() || waitMs <= 0 || isOnWorkers()) return overloaded(headers.id);
    return new Promise((resolve) => {
      const leave = (result: Slot | Ending): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        this.#waitingBytes -= bytes;
        if (!("outcome" in result)) trace.slot = result;
        resolve(result);
      };
      const waiting = { delivery, leastUntil, leave };
      const timer = setTimeout(() => leave(overloaded(headers.id)), waitMs);
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
    });
  }

  leave(slot: Slot): void {
    this.#recent[this.#left % RECENT] = performance.now() - slot.since;
    this.#left += 1;
    this.#limit.leave(slot);
    if (this.#waiting.size > 0) this.#admit();
  }

  /** How many deliveries wait, whose senders have not hung up. */
  waiting(): number {
    this.#dropDisconnected();
    return this.#waiting.size;
  }

  /** Answers `draining` to all that wait, and to all that would have to. */
  close(): void {
    this.#isClosed = true;
    for (const { leave } of this.#waiting) leave({ outcome: "draining" });
  }

  /** Gives the free places to those who have waited longest. */
  #admit(): void {
    for (const { delivery, leastUntil, leave } of this.#waiting) {
      const { headers, trace } = delivery;
      // A runtime that ends a request's context calls none of its timers.
      const isOver = performance.now() >= this.#until(trace, leastUntil);
      if (isOver || isDisconnected(trace)) leave(overloaded(headers.id));
      else if (this.#limit.isReached()) return;
      else leave(this.#limit.enter());
    }
  }

  #dropDisconnected(): void {
    for (const { delivery, leave } of this.#waiting) {
      if (isDisconnected(delivery.trace)) leave(overloaded(delivery.headers.id));
    }
  }

  /** How long a delivery may wait, by `performance.now()`: recent handlers tell how long its own will take. */
  #until({ startedAt }: Trace, leastUntil: number): number {
    const byDuration = [...this.#recent].sort((one, other) => one - other);
    const median = byDuration[Math.floor(byDuration.length / 2)] ?? 0;
    return Math.max(leastUntil, startedAt + this.#handlerTimeoutMs - median);
  }
}
