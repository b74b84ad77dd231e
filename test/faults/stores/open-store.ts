import { openNats, openRabbitmq } from "./brokers.js";
import type { Mode } from "../plan/mode.js";
import { openMysql } from "./mysql.js";
import { openDynamodb } from "./dynamodb.js";
import { openPostgres } from "./postgres.js";
import { openRedis } from "./redis.js";
import { openSqlite } from "./sqlite.js";
import type { StoreServer } from "./store-server.js";

/** Starts the store of a mode with its tables. `file` is the path for SQLite. */
export function openStoreServer(mode: Mode, file: string): Promise<StoreServer> {
  const { engine, setup } = mode;
  switch (engine) {
    case "redis":
      return openRedis(mode);
    case "postgres":
      return openPostgres(mode);
    case "mysql":
      return openMysql(setup);
    case "dynamodb":
      return openDynamodb();
    case "nats":
      return openNats(file);
    case "rabbitmq":
      return openRabbitmq(file);
    case "sqlite":
      return Promise.resolve(openSqlite(setup, file));
  }
}
