import { isDeliveryId } from "../../src/delivery/headers.js";

/** What the cases have seen of a delivery. */
export interface LoggedDelivery {
  readonly id: string;
  /** The highest count that a case has read. */
  readonly runs: number;
  /** True for a request that must never be handled. */
  readonly isForged: boolean;
}

/**
 * What the cases of one suite have counted. The last case counts again, once for all of them: an effect may come
 * after the case that caused it.
 */
export class DeliveryLog {
  readonly #deliveries = new Map<string, LoggedDelivery>();

  /** Notes how often a delivery has been handled by now. */
  counted(id: string, runs: number): void {
    if (!isDeliveryId(id)) return;
    const { runs: before = 0, isForged = false } = this.#deliveries.get(id) ?? {};
    this.#deliveries.set(id, { id, runs: Math.max(runs, before), isForged });
  }

  /** Notes that a request with this id was refused, and that no genuine one has the same id. */
  refusedForgery(id: string): void {
    const logged = this.#deliveries.get(id);
    if (logged !== undefined) this.#deliveries.set(id, { ...logged, isForged: true });
  }

  /** Forgets a delivery whose case has failed. */
  forget(id: string): void {
    this.#deliveries.delete(id);
  }

  /** Returns everything so far, and forgets it. */
  take(): readonly LoggedDelivery[] {
    const all = [...this.#deliveries.values()];
    this.#deliveries.clear();
    return all;
  }
}
