import type { Run } from "./outcome-facts.js";

/** The gateway waits 10 s before its first retry; what comes earlier is a proxy's, or a stranger's. */
const MIN_GAP_MS = 5_000;
/** Each gap of the gateway is longer than the one before. A stranger who repeats one request keeps a pace. */
const GROWTH = 1.1;
/** The third attempt comes after 35 s, so few ids are enough. */
const MAX_IDS = 500;
/** In a flood of other ids, an id is kept for at least this long. */
const KEPT_MS = 45_000;

/** A refused id. */
interface Seen {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly gapMs: number;
}

/**
 * Tells the gateway's refused deliveries from a stranger's requests: a delivery that is refused comes again with the
 * same id, after growing gaps. Holds ids of requests that are not authentic, so it compares them and shows none.
 */
export class RefusedRetries {
  /** Those that came longest ago are first. */
  readonly #seen = new Map<string, Seen>();
  /** Until then the list is full, and takes no new id. */
  #fullUntilMs = 0;
  /** The first delivery of each type that came three times, since the last authentic one. */
  readonly #first = new Map<Run, { readonly id: string; readonly sinceMs: number }>();

  /** Called for each refused request that claims a type, with the id that it claims. */
  note(type: Run, id: string, nowMs: number): void {
    const seen = this.#seen.get(id);
    if (seen === undefined) {
      if (this.#hasRoom(nowMs)) this.#seen.set(id, { firstMs: nowMs, lastMs: nowMs, gapMs: 0 });
      return;
    }
    const gapMs = nowMs - seen.lastMs;
    if (gapMs < MIN_GAP_MS) return;
    const first = this.#first.get(type);
    const isGrowing = gapMs > GROWTH * seen.gapMs;
    if (!isGrowing && first?.id === id) this.#first.delete(type);
    if (isGrowing && seen.gapMs > 0) this.#first.set(type, first ?? { id, sinceMs: seen.firstMs });
    this.#seen.delete(id);
    this.#seen.set(id, {
      firstMs: seen.firstMs,
      lastMs: nowMs,
      gapMs: isGrowing ? gapMs : Infinity,
    });
  }

  /** Makes room for an id, if the one that came longest ago is old enough. */
  #hasRoom(nowMs: number): boolean {
    if (this.#seen.size < MAX_IDS) return true;
    if (nowMs < this.#fullUntilMs) return false;
    const [oldest] = this.#seen;
    if (oldest === undefined) return true;
    const [id, { lastMs }] = oldest;
    this.#fullUntilMs = lastMs + KEPT_MS;
    if (nowMs < this.#fullUntilMs) return false;
    this.#seen.delete(id);
    return true;
  }

  /** Called for each authentic delivery, with the types whose refusals it ends. */
  end(types: readonly Run[]): void {
    if (this.#first.size > 0) for (const type of types) this.#first.delete(type);
  }

  /** Called when the clock was set back. */
  clear(): void {
    this.#seen.clear();
    this.#fullUntilMs = 0;
    this.#first.clear();
  }

  /** When the first of them came first, in Unix milliseconds; 0 if there is none. */
  sinceMs(type: Run): number {
    return this.#first.get(type)?.sinceMs ?? 0;
  }
}
