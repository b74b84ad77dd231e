import type { DeliveryStore } from "./delivery-store.js";
import { inProcessStore, type CompletedIds } from "./in-process-store.js";
import { UUID_GROUPS, readUuid } from "./uuid.js";
import { UuidTable } from "./uuid-table.js";

/** Options of `compactMemoryStore`. */
export interface CompactMemoryStoreOptions {
  /**
   * The most completed ids that are remembered, and the most claims in flight. From 1 to 10 000 000,
   * default 1 000 000. Beyond it the id completed longest ago is forgotten, even within its retention, and
   * the receiver logs one warning. 31 bytes for each are reserved when the store is made.
   */
  maxEntries?: number | undefined;
  /** The store's clock in milliseconds. Default `performance.now`, which ignores changes of the system clock. */
  now?: (() => number) | undefined;
}

/**
 * `memoryStore` for hundreds of thousands of ids and more, in a quarter of the memory: 31 bytes an id,
 * which the garbage collector does not scan. It compares whole ids, as `memoryStore` does. An id that is
 * handled again after its retention counts twice towards `maxEntries`.
 *
 * Choose it for ids that are UUIDs in lower case, as the gateway's are. Any other id is kept as text and
 * takes about 200 bytes more. For fewer ids `memoryStore` is as good and reserves nothing.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @example
 * ```ts
 * const store = compactMemoryStore({ maxEntries: 2_000_000 }); // reserves 62 MB
 * const receiver = createWebhookReceiver({ secret, handlers, store });
 * ```
 */
export function compactMemoryStore(options: CompactMemoryStoreOptions = {}): DeliveryStore {
  return inProcessStore(
    "compactMemoryStore",
    options,
    1_000_000,
    (maxEntries, onForgotten) => new CompactIds(maxEntries, onForgotten),
  );
}

/**
 * Completed ids in a ring of numbered places: canonical UUIDs in 31 bytes each, all others as text. A new
 * id takes the next place, and the id that was there, completed longest ago, is forgotten.
 */
class CompactIds implements CompletedIds {
  private readonly uuids: UuidTable;
  private readonly texts = new Map<number, string>();
  private readonly placesOfTexts = new Map<string, number>();
  /** The end of the retention of each place, by the store's clock. */
  private readonly expirations: Float64Array;
  private nextPlace = 0;

  // The id that was read last: a completion often follows the claim of the same id.
  private readonly uuid = new Uint16Array(UUID_GROUPS);
  private readId: string | undefined;
  private isUuid = false;

  constructor(
    private readonly maxEntries: number,
    private readonly onForgotten: () => void,
  ) {
    this.uuids = new UuidTable(maxEntries);
    this.expirations = new Float64Array(maxEntries);
  }

  has(id: string, now: number): boolean {
    const place = this.read(id) ? this.uuids.find(this.uuid) : (this.placesOfTexts.get(id) ?? -1);
    return place !== -1 && (this.expirations[place] ?? 0) > now;
  }

  add(id: string, now: number, retentionMs: number): void {
    const place = this.nextPlace;
    this.nextPlace = place + 1 === this.maxEntries ? 0 : place + 1;
    if ((this.expirations[place] ?? 0) > now) this.onForgotten();
    this.clear(place);
    this.expirations[place] = now + retentionMs;
    // An id that is completed again leaves its old place unused until the ring returns to it.
    if (this.read(id)) {
      this.uuids.put(this.uuid, place);
    } else {
      this.texts.delete(this.placesOfTexts.get(id) ?? place);
      this.texts.set(place, id);
      this.placesOfTexts.set(id, place);
    }
  }

  /** Reads `id` into `uuid`. Returns false if it is not a canonical UUID. */
  private read(id: string): boolean {
    if (id === this.readId) return this.isUuid;
    this.isUuid = readUuid(id, this.uuid);
    this.readId = id;
    return this.isUuid;
  }

  private clear(place: number): void {
    const text = this.texts.get(place);
    if (text === undefined) {
      this.uuids.clear(place);
    } else {
      this.texts.delete(place);
      this.placesOfTexts.delete(text);
    }
  }
}
