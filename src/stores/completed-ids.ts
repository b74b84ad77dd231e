/**
 * The ids that were handled, each with the end of its retention. Bounded: beyond the bound the id
 * handled longest ago is forgotten. Times are milliseconds of the store's clock.
 */
export interface CompletedIds {
  /** Whether `id` was handled and its retention has not ended at `now`. Keeps it no longer for that. */
  has(id: string, now: number): boolean;
  /** Remembers `id` as the one handled last, until `now + retentionMs` at least. */
  add(id: string, now: number, retentionMs: number): void;
}

/** Makes an empty set; `onForgotten` is called whenever an id is forgotten within its retention. */
export type CreateCompletedIds = (maxEntries: number, onForgotten: () => void) => CompletedIds;
