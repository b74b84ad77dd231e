import { overloaded } from "../answer/endings.js";
import { isDisconnected, type Ending } from "../answer/trace.js";
import { ConcurrencyLimit, type Slot } from "../common/concurrency-limit.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { Delivery, HandlingTimes } from "./handling.js";

/** How many deliveries wait at once, and with how many bytes of bodies. */
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 64 * 1_048_576;

/** A delivery that waits. */
interface Waiting {
  readonly delivery: Delivery;
  /** By `performance.now()`. A runtime that ends a request's context calls none of its timers. */
  readonly until: number;
  /** Takes the delivery out of the queue. */
  readonly leave: (result: Slot | Ending) => void;
}

/**
 * The connections of a transactional store. A delivery takes one, or waits until one is free: first come,
 * first served, for at most half of `dependencyTimeoutMs`.
 */
export class ConnectionQueue {
  readonly #limit: ConcurrencyLimit;
  readonly #maxWaitMs: number;
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;
  #isClosed = false;

  constructor(connections: number, { handlerMaxMs, dependencyTimeoutMs }: HandlingTimes) {
    // A handler that is given up has left its connection by then, unless its timers are never called. The
    // four: begin and end of two transactions if the delivery is discarded.
    this.#limit = new ConcurrencyLimit(connections, handlerMaxMs + 4 * dependencyTimeoutMs);
    this.#maxWaitMs = dependencyTimeoutMs / 2;
  }

  /** Takes a connection, which is in use until `leave`, or tells how a delivery without one ends. */
  enter(delivery: Delivery): ValueOrPromise<Slot | Ending> {
    this.#admit();
    if (!this.#limit.isReached()) return this.#limit.enter();
    if (this.#isClosed) return { outcome: "draining" };
    const { bytes, deadline } = delivery.trace;
    const hasRoom =
      this.#waiting.size < MAX_WAITING && this.#waitingBytes + bytes <= MAX_WAITING_BYTES;
    if (!hasRoom) return overloaded(delivery.headers.id);
    const waitMs = deadline?.handlerMs(this.#maxWaitMs) ?? this.#maxWaitMs;
    return new Promise((resolve) => {
      const leave = (result: Slot | Ending): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        this.#waitingBytes -= bytes;
        resolve(result);
      };
      const waiting = { delivery, until: performance.now() + waitMs, leave };
      const timer = setTimeout(() => leave(overloaded(delivery.headers.id)), waitMs);
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
    });
  }

  leave(slot: Slot): void {
    this.#limit.leave(slot);
    this.#admit();
  }

  /** Answers `draining` to all that wait, and to all that would have to. */
  close(): void {
    this.#isClosed = true;
    for (const { leave } of this.#waiting) leave({ outcome: "draining" });
  }

  /** Gives the free connections to those who have waited longest. */
  #admit(): void {
    for (const { delivery, until, leave } of this.#waiting) {
      if (performance.now() >= until || isDisconnected(delivery.trace)) {
        leave(overloaded(delivery.headers.id));
      } else if (this.#limit.isReached()) return;
      else leave(this.#limit.enter());
    }
  }
}
