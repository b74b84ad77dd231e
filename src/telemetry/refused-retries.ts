import { LRUCache } from "lru-cache";
import { headerText } from "../delivery/header-values.js";
import { HEADERS } from "../delivery/headers.js";
import type { WebhookRequest } from "../delivery/request.js";
import type { Run } from "./outcome-facts.js";

/** The gateway waits 10 s before its first retry; what comes earlier is a proxy's, or a stranger's. */
const MIN_GAP_MS = 5_000;
/** Each gap of the gateway is longer than the one before. A stranger who repeats one request keeps a pace. */
const GROWTH = 1.1;
/** The third attempt comes after 35 s, so few ids are enough, also in a flood. */
const MAX_IDS = 500;

/**
 * Tells the gateway's refused deliveries from a stranger's requests: a delivery that is refused comes again with the
 * same id, after growing gaps. Holds ids of requests that are not authentic, so it compares them and shows none.
 */
export class RefusedRetries {
  readonly #seen = new LRUCache<string, { firstMs: number; lastMs: number; gapMs: number }>({
    max: MAX_IDS,
  });
  /** The first delivery of each type that came three times, since the last authentic one. */
  readonly #first = new Map<Run, { readonly id: string; readonly sinceMs: number }>();

  /** Called for each refused request that claims a type. */
  note(type: Run, { headers }: WebhookRequest, nowMs: number): void {
    const id = idIn(headers);
    if (id === undefined) return;
    const seen = this.#seen.get(id);
    if (seen === undefined) {
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
    this.#first.clear();
  }

  /** When the first of them came first, in Unix milliseconds; 0 if there is none. */
  sinceMs(type: Run): number {
    return this.#first.get(type)?.sinceMs ?? 0;
  }
}

function idIn(headers: WebhookRequest["headers"]): string | undefined {
  try {
    return headerText(headers, HEADERS.id.name);
  } catch {
    // Made to be read once.
    return undefined;
  }
}
