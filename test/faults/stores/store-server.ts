import { setTimeout as wait } from "node:timers/promises";

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
  /** The server ends all connections of the receivers, at random moments for `ms`. */
  readonly endConnections: (ms: number) => Promise<void>;
  /** Suspends the whole server for `ms`. Its connections stay open. */
  readonly freeze: (ms: number) => Promise<void>;
  /** For `ms` the server refuses all writes. */
  readonly refuseWrites: (ms: number) => Promise<void>;
  /** For `ms` the server has no room for new keys. */
  readonly fill: (ms: number) => Promise<void>;
  /**
   * A replica takes over that had no writes for `ms`. Resolves with its port, and with whether it has all that the
   * server before it had confirmed.
   */
  readonly failOver: (
    ms: number,
  ) => Promise<{ readonly port: number; readonly isComplete: boolean }>;
  /** The largest number of the receivers' connections so far; undefined if not counted. */
  readonly mostConnections: () => number | undefined;
  /** Its content now. */
  readonly read: () => Promise<StoreContent>;
  readonly close: () => Promise<void>;
}

/** What a store without such troubles does about them. */
export const UNTROUBLED = {
  restart: () => Promise.resolve(),
  lock: () => Promise.resolve(),
  lockRows: () => Promise.resolve(),
  endConnections: () => Promise.resolve(),
  freeze: () => Promise.resolve(),
  refuseWrites: () => Promise.resolve(),
  fill: () => Promise.resolve(),
  failOver: () => Promise.reject(new Error("this store has no replica")),
  mostConnections: () => undefined,
};

/** A server of the run's own. `crash` stops it. After `close` it does not start again. */
export function crashingStore(
  server: { readonly port: number; readonly start: () => Promise<unknown> },
  crash: () => Promise<unknown>,
  own: Pick<StoreServer, "read" | "close"> & Partial<StoreServer>,
): StoreServer {
  let isClosed = false;
  return {
    ...UNTROUBLED,
    port: server.port,
    async restart(downMs) {
      await crash();
      await wait(downMs);
      if (!isClosed) await server.start();
    },
    ...own,
    close: () => {
      isClosed = true;
      return own.close();
    },
  };
}

/** Content of a store. */
export interface StoreContent {
  /** Ids of all deliveries in the store, in any state. */
  readonly storedIds: readonly string[];
  /** As in `History`. */
  readonly exactIds?: readonly string[];
  /** As in `History`. */
  readonly unfinishedIds?: readonly string[];
  /** As in `History`. */
  readonly deadIds?: readonly string[];
}
