import type { DeliveryStore } from "identity-gateway-webhooks";
import type { StoreName } from "./command-line.js";

/** Where a store keeps its data. Plain, so that it can be sent to another process. */
export interface StorePlace {
  readonly store: StoreName;
  /** A file for SQLite, the URL of the server for Redis. */
  readonly location: string;
  /** The table or the key prefix, unique to one run of the demo. */
  readonly name: string;
}

/** The store cannot be used. The message says which one and why. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}

/** A store that is connected. */
export interface DurableStore {
  readonly store: DeliveryStore;
  readonly close: () => Promise<void>;
  /** Removes the demo's data from the server. */
  readonly clear: () => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Opens the store. Rejects if its server cannot be reached. */
export function openStore(place: StorePlace): Promise<DurableStore> {
  return OPENERS[place.store](place);
}

/** Each loads its own driver: three processes of the demo open one store. */
const OPENERS: Record<StoreName, (place: StorePlace) => Promise<DurableStore>> = {
  async sqlite({ location, name }) {
    const { default: Database } = await import("better-sqlite3");
    const { sqliteStore } = await import("identity-gateway-webhooks/sqlite");
    const database = new Database(location);
    return {
      store: sqliteStore({ database, table: name }),
      close() {
        database.close();
        return Promise.resolve();
      },
      // The file is removed with its folder.
      clear: () => Promise.resolve(),
    };
  },

  async redis({ location, name }) {
    const { createClient } = await import("redis");
    const { redisStore } = await import("identity-gateway-webhooks/redis");
    const client = createClient({
      url: location,
      socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
    });
    // Without a listener, a broken connection ends the process.
    client.on("error", () => undefined);
    await client.connect();
    return {
      store: redisStore({ client, keyPrefix: `${name}:` }),
      close: () => client.close(),
      async clear() {
        for await (const keys of client.scanIterator({ MATCH: `${name}:*`, COUNT: 1_000 })) {
          if (keys.length > 0) await client.unlink(keys);
        }
      },
    };
  },
};
