import type { DeliveryStore } from "identity-gateway-webhooks";
import type { StoreName } from "./command-line.js";
import { remoteD1 } from "./d1.js";
import { openDynamoDB } from "./dynalite.js";

/** Where a store keeps its data. Plain, so that it can be sent to another process. */
export interface StorePlace {
  readonly store: StoreName;
  /** A file for SQLite, otherwise the URL of the server; for D1 that of a Worker in front of it. */
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

  async d1({ location, name }) {
    const { d1Schema, d1Store } = await import("identity-gateway-webhooks/cloudflare");
    const database = remoteD1(location);
    await database.batch([database.prepare(d1Schema(name))]);
    // The database ends with its workerd.
    const nothing = () => Promise.resolve();
    return { store: d1Store({ database, table: name }), close: nothing, clear: nothing };
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

  async dynamodb({ location, name }) {
    const { createDynamoTable, dynamoStore } = await import("identity-gateway-webhooks/dynamodb");
    const client = openDynamoDB(location);
    await createDynamoTable({ client, table: name });
    return {
      store: dynamoStore({ client, table: name }),
      close() {
        client.destroy();
        return Promise.resolve();
      },
      // The data ends with the server.
      clear: () => Promise.resolve(),
    };
  },

  async postgres({ location, name }) {
    const { default: pg } = await import("pg");
    const { postgresStore } = await import("identity-gateway-webhooks/postgres");
    const pool = new pg.Pool({
      connectionString: location,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    pool.on("error", () => undefined);
    const store = postgresStore({ pool, table: name });
    await store.migrate();
    return {
      store,
      close: () => pool.end(),
      async clear() {
        await pool.query(`DROP TABLE ${name}`);
      },
    };
  },

  async mysql({ location, name }) {
    const { default: mysql } = await import("mysql2/promise");
    const { mysqlStore } = await import("identity-gateway-webhooks/mysql");
    const pool = mysql.createPool({ uri: location, connectTimeout: CONNECT_TIMEOUT_MS });
    const store = mysqlStore({ pool, table: name });
    await store.migrate();
    return {
      store,
      close: () => pool.end(),
      async clear() {
        await pool.query(`DROP TABLE ${name}`);
      },
    };
  },
};
