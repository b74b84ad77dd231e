/** The store that the receivers of a mode share, behind the proxy. */
export interface StoreServer {
  /** Its port; 0 for a file. */
  readonly port: number;
  /** Crashes the server and starts it again after `downMs`. It keeps all data that it had confirmed. */
  readonly restart: (downMs: number) => Promise<void>;
  /** Another client locks the table of deliveries for `ms`. */
  readonly lock: (ms: number) => Promise<void>;
  /** Another client locks some of its rows for `ms`; with SQLite, the file. */
  readonly lockRows: (ms: number) => Promise<void>;
  /** The largest number of the receivers' connections so far; undefined if not counted. */
  readonly mostConnections: () => number | undefined;
  /** Its content now. */
  readonly read: () => Promise<StoreContent>;
  readonly close: () => Promise<void>;
}

/** Content of a store. */
export interface StoreContent {
  /** Ids of all deliveries in the store, in any state. */
  readonly storedIds: readonly string[];
  /** As in `History`. */
  readonly exactIds?: readonly string[];
  /** As in `History`. */
  readonly unfinishedIds?: readonly string[];
}
