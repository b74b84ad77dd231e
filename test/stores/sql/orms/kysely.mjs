import Database from "better-sqlite3";
import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect, SqliteDialect } from "kysely";
import mysql from "mysql2";
import pg from "pg";

const DIALECTS = {
  postgres: ({ prepare, ...connection }, max) => {
    const pool = new pg.Pool({ ...connection, max });
    pool.on("error", () => undefined);
    // Without it, a connection that breaks in a transaction ends the process.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return new PostgresDialect({ pool });
  },
  mysql: (connection, connectionLimit) =>
    new MysqlDialect({ pool: mysql.createPool({ ...connection, connectionLimit }) }),
  sqlite: ({ filename }) =>
    new SqliteDialect({ database: new Database(filename, { timeout: 20 }) }),
};

export async function open({ dialect, connection, connections }) {
  const db = new Kysely({ dialect: DIALECTS[dialect](connection, connections) });
  return {
    transaction: (run) => db.transaction().execute(run),
    query: (tx, sql) => tx.executeQuery(CompiledQuery.raw(sql)),
    write: (tx, text) => tx.insertInto("effects").values({ name: text }).execute(),
    run: (tx, sql) => tx.executeQuery(CompiledQuery.raw(sql)),
    close: () => db.destroy(),
  };
}
