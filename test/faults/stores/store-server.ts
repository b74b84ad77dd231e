/** The store that a mode's receivers share, beyond the proxy. */
export interface StoreServer {
  /** Where it listens; 0 for a file. */
  readonly port: number;
  /** SIGKILL or the like, and a start after `downMs`, with all that it had said was durable. */
  readonly restart: (downMs: number) => Promise<void>;
  /** Another client locks the table of deliveries for `ms`. */
  readonly lock: (ms: number) => Promise<void>;
  /** The most connections of receivers so far; undefined where none are counted. */
  readonly mostConnections: () => number | undefined;
  /** What it holds now. */
  readonly read: () => Promise<StoreContent>;
  readonly close: () => Promise<void>;
}

/** What is in a store. */
export interface StoreContent {
  /** Ids of deliveries that it knows, in whatever state. */
  readonly storedIds: readonly string[];
  /** As in `History`. */
  readonly exactIds?: readonly string[];
  /** As in `History`. */
  readonly unfinishedIds?: readonly string[];
}
