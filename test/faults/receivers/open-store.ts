import type { DeliveryStore } from "identity-gateway-webhooks";
import { flawedStore, HANDLES_ANYWAY } from "./flawed-store.js";
import { hastyStore } from "./hasty-store.js";
import type { ReceiverConfig } from "./receiver-config.js";

const CLOCK_SKEW_MS = 600;

/** The store of a receiver in lease mode. Loads only its own driver, because receivers start all the time. */
export async function openStore(config: ReceiverConfig): Promise<DeliveryStore> {
  switch (config.setup) {
    case "lease-redis": {
      const { openRedis } = await import("./redis-client.js");
      const { redisStore } = await import("identity-gateway-webhooks/redis");
      const client = openRedis(config.port);
      const store = redisStore({ client });
      return config.flaw === undefined ? store : flawedStore(config.flaw, store, client);
    }
    case "lease-postgres": {
      const { openPool } = await import("./postgres-pool.js");
      const { postgresStore } = await import("identity-gateway-webhooks/postgres");
      const pool = openPool(config);
      const store = postgresStore({ pool });
      return config.flaw === undefined || config.flaw === HANDLES_ANYWAY
        ? store
        : hastyStore(config.flaw, pool, store);
    }
    case "lease-mysql": {
      const { openMysqlPool } = await import("./mysql-pool.js");
      const { mysqlStore } = await import("identity-gateway-webhooks/mysql");
      return mysqlStore({ pool: openMysqlPool(config.port) });
    }
    case "lease-sqlite": {
      const { default: Database } = await import("better-sqlite3");
      const { sqliteStore } = await import("identity-gateway-webhooks/sqlite");
      const database = new Database(config.databaseFile);
      return sqliteStore({ database });
    }
    case "lease-dynamodb": {
      const { DynamoDB } = await import("@aws-sdk/client-dynamodb");
      const { dynamoStore } = await import("identity-gateway-webhooks/dynamodb");
      const client = new DynamoDB({
        endpoint: `http://127.0.0.1:${config.port}`,
        region: "eu-central-1",
        credentials: { accessKeyId: "test", secretAccessKey: "test" },
      });
      // The clocks differ by almost as much as the store allows.
      const offMs = Math.sign(config.clockOffMs) * (CLOCK_SKEW_MS / 2 - 1);
      return dynamoStore({ client, clockSkewMs: CLOCK_SKEW_MS, now: () => Date.now() + offMs });
    }
    default:
      throw new Error(`${config.setup} has no leases`);
  }
}
