import { randomUUID } from "node:crypto";
import type { PurgeOptions } from "../../../src/stores/table-maintenance.js";
import { mysqlEngine } from "../mysql/mysql-engine.js";
import { postgresEngine } from "../postgres/postgres-engine.js";
import type { Sql, SqlEngine } from "./sql-engine.js";

/** A `describe` for each engine. Its title begins with the name of the engine. */
export function describeSql(title: string, body: (engine: SqlEngine) => void): void {
  for (const engine of [mysqlEngine, postgresEngine] as readonly SqlEngine[]) {
    engine.describe(`${engine.name}: ${title}`, () => body(engine));
  }
}

/** Makes a store on each of two pools, with a new table. `admin` moves its rows into the past. */
export async function openSqlPlace<Pool extends Sql>(
  engine: SqlEngine<Pool>,
  pools: readonly [Pool, Pool],
  admin: Pool,
  prepare?: boolean,
) {
  const table = `t_${randomUUID().replaceAll("-", "_")}`;
  const options = prepare === undefined ? { table } : { table, prepare };
  const [store, otherClient] = [
    engine.makeStore(pools[0], options),
    engine.makeStore(pools[1], options),
  ];
  await store.migrate();
  const back = engine.name === "MySQL" ? "- ?" : "- ? * interval '1 ms'";
  const move = `UPDATE ${table} SET expires_at = expires_at ${back}, lease_until = lease_until ${back}`;
  return {
    table,
    store,
    otherClient,
    transactions: engine.makeTransactions(pools[0], options),
    otherTransactions: engine.makeTransactions(pools[1], options),
    purge: (options?: PurgeOptions) => store.purge(options),
    advance: async (ms: number) => {
      await engine.rows(admin, move, [ms, ms]);
    },
  };
}
