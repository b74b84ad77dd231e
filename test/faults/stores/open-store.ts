import type { Mode } from "../plan/mode.js";
import { openMysql } from "./mysql.js";
import { openDynamodb } from "./dynamodb.js";
import { openPostgres } from "./postgres.js";
import { openRedis } from "./redis.js";
import { openSqlite } from "./sqlite.js";
import type { StoreServer } from "./store-server.js";

/** Starts the store of a mode with its tables. `file` is the path for SQLite. */
export function openStoreServer({ engine, setup }: Mode, file: string): Promise<StoreServer> {
  switch (engine) {
    case "redis":
      return openRedis(setup);
    case "postgres":
      return openPostgres(setup);
    case "mysql":
      return openMysql(setup);
    case "dynamodb":
      return openDynamodb();
    case "sqlite":
      return Promise.resolve(openSqlite(setup, file));
  }
}
