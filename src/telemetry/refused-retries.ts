import { LRUCache } from "lru-cache";
import type { Run } from "./outcome-facts.js";

/** The gateway waits 10 s before its first retry; what comes earlier is a proxy's, or a stranger's. */
const MIN_GAP_MS = 5_000;
/** Each gap of the gateway is longer than the one before. A stranger who repeats one request keeps a pace. */
const GROWTH = 1.1;
/** The third attempt comes after 35 s, so few ids are enough. */
const MAX_IDS = 500;
/** A new id is taken this often at most, so that in a flood each of them is kept for 45 s. */
const GAP_MS = 90;

/**
 * Tells the gateway's refused deliveries from a stranger's requests: a delivery that is refused comes again with the
 * same id, after growing gaps. Holds ids of requests that are not authentic, so it compares them and shows none.
 */
export class RefusedRetries {
  readonly #seen = new LRUCache<string, { firstMs: number; lastMs: number; gapMs: number }>({
    max: MAX_IDS,
  });
  #addedMs = 0;
  /** The first delivery of each type that came three times, since the last authentic one. */
  readonly #first = new Map<Run, { readonly id: string; readonly sinceMs: number }>();

  /** Called for each refused request that claims a type, with the id that it claims. */
  note(type: Run, id: string, nowMs: number): void {
    const seen = this.#seen.get(id);
    if (seen === undefined) {
      if (nowMs - this.#addedMs < GAP_MS) return;
      this.#addedMs = nowMs;
      this.#seen.set(id, { firstMs: nowMs, lastMs: nowMs, gapMs: 0 });
      return;
    }
    const gapMs = nowMs - seen.lastMs;
    if (gapMs < MIN_GAP_MS) return;
    const first = this.#first.get(type);
    const isGrowing = gapMs > GROWTH * seen.gapMs;
    if (!isGrowing && first?.id === id) this.#first.delete(type);
    if (isGrowing && seen.gapMs > 0) this.#first.set(type, first ?? { id, sinceMs: seen.firstMs });
    seen.lastMs = nowMs;
    seen.gapMs = isGrowing ? gapMs : Infinity;
  }

  /** Called for each authentic delivery, with the types whose refusals it ends. */
  end(types: readonly Run[]): void {
    if (this.#first.size > 0) for (const type of types) this.#first.delete(type);
  }

  /** Called when the clock was set back. */
  clear(): void {
    this.#seen.clear();
    this.#addedMs = 0;
    this.#first.clear();
  }

  /** When the first of them came first, in Unix milliseconds; 0 if there is none. */
  sinceMs(type: Run): number {
    return this.#first.get(type)?.sinceMs ?? 0;
  }
}
