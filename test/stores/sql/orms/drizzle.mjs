import { createClient } from "@libsql/client";
import { sql as raw } from "drizzle-orm";
import { drizzle as onLibsql } from "drizzle-orm/libsql";
import { mysqlTable, varchar } from "drizzle-orm/mysql-core";
import { drizzle as onMysql } from "drizzle-orm/mysql2";
import { drizzle as onPostgres } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { sqliteTable, text as sqliteText } from "drizzle-orm/sqlite-core";
import mysql from "mysql2/promise";
import pg from "pg";

const DIALECTS = {
  postgres({ prepare, ...connection }, max) {
    const pool = new pg.Pool({ ...connection, max });
    pool.on("error", () => undefined);
    // Without it, a connection that breaks in a transaction ends the process.
    pool.on("connect", (client) => client.on("error", () => undefined));
    const effects = pgTable("effects", { name: text("name") });
    return { db: onPostgres(pool), effects, close: () => pool.end() };
  },
  mysql(connection, connectionLimit) {
    const pool = mysql.createPool({ ...connection, connectionLimit });
    const effects = mysqlTable("effects", { name: varchar("name", { length: 200 }) });
    return { db: onMysql(pool), effects, close: () => pool.end() };
  },
  sqlite({ filename }) {
    const client = createClient({ url: `file:${filename}` });
    const effects = sqliteTable("effects", { name: sqliteText("name") });
    return { db: onLibsql(client), effects, close: () => client.close() };
  },
};

export async function open({ dialect, connection, connections }) {
  const { db, effects, close } = DIALECTS[dialect](connection, connections);
  const run =
    dialect === "sqlite"
      ? (tx, sql) => tx.all(raw.raw(sql))
      : (tx, sql) => tx.execute(raw.raw(sql));
  return {
    transaction: (work) => db.transaction(work),
    query: run,
    write: (tx, name) => tx.insert(effects).values({ name }),
    run,
    close,
  };
}
