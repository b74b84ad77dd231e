import { MAX_TIMER_MS } from "../../src/common/timers.js";
import type { ListenedDelivery } from "./listened-delivery.js";

/** How many deliveries are remembered, and how many bytes of their bodies. */
const MAX_DELIVERIES = 500;
const MAX_BYTES = 67_108_864;

/** The last deliveries, oldest first. */
export class DeliveryLog {
  #all: readonly ListenedDelivery[] = [];
  #bytes = 0;
  readonly #waiting = new Set<() => void>();

  get all(): readonly ListenedDelivery[] {
    return this.#all;
  }

  /** `seq` of the last one, or 0. */
  get last(): number {
    return this.#all.at(-1)?.seq ?? 0;
  }

  add(delivery: ListenedDelivery): void {
    const all = [...this.#all, delivery];
    this.#bytes += delivery.bytes;
    while (all.length > MAX_DELIVERIES || (this.#bytes > MAX_BYTES && all.length > 1)) {
      this.#bytes -= all.shift()?.bytes ?? 0;
    }
    this.#all = all;
    this.wake();
  }

  /** Lets every `wait` look again. */
  wake(): void {
    for (const look of this.#waiting) look();
  }

  /**
   * Resolves to what `find` returns, as soon as that is not undefined: now or after a later delivery. Resolves to
   * undefined after `ms`, or when the signal aborts or has aborted.
   */
  wait<T>(find: () => T | undefined, ms: number, signal?: AbortSignal): Promise<T | undefined> {
    return new Promise((resolve) => {
      const end = (found: T | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        signal?.removeEventListener("abort", stop);
        resolve(found);
      };
      const stop = (): void => end(undefined);
      const look = (): void => {
        const found = find();
        if (found !== undefined) end(found);
      };
      const timer = setTimeout(stop, Math.min(ms, MAX_TIMER_MS));
      this.#waiting.add(look);
      signal?.addEventListener("abort", stop);
      look();
      if (signal?.aborted === true) stop();
    });
  }
}

/**
 * What a delivery must be. What is left out may be anything. Type, event type, account and id are known only of a
 * delivery whose signature is good.
 *
 * @experimental
 */
export interface DeliveryFilter {
  /** X-Webhook-Type. */
  readonly type?: string | undefined;
  /** `event_type` of the alarm or `type` of the event. */
  readonly eventType?: string | undefined;
  readonly accountId?: number | undefined;
  /** X-Webhook-Id. */
  readonly id?: string | undefined;
  readonly outcome?: string | undefined;
  /** HTTP status of the answer. */
  readonly status?: number | undefined;
}

export const FILTERS = ["type", "eventType", "accountId", "id", "outcome", "status"] as const;

/** The names of the filters that a delivery does not fit. */
export function differing(delivery: ListenedDelivery, filter: DeliveryFilter) {
  return FILTERS.filter((name) => filter[name] !== undefined && filter[name] !== delivery[name]);
}
