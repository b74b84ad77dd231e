// A process that a test kills in its handler: writes an effect, prints `written`, and never ends.
// node --import tsx killed-handler.ts <name of the engine> <port> <key>
import mysql from "mysql2/promise";
import pg from "pg";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import type { Sql } from "./sql-engine.js";

const [engine, port, key = ""] = process.argv.slice(2);
const address = { host: "127.0.0.1", port: Number(port) };

async function hang(tx: Sql, value: string): Promise<void> {
  await tx.query(`INSERT INTO effects (name) VALUES (${value})`, [key]);
  process.stdout.write("written\n");
  await new Promise(() => {
    setInterval(() => undefined, 60_000);
  });
}

if (engine === "MySQL") {
  const pool = mysql.createPool({ ...address, user: "root", database: "test" });
  const store = mysqlTransactions({ pool });
  await store.process(key, (tx) => hang(tx, "?"), { retentionMs: 3_600_000 });
} else {
  const pool = new pg.Pool({ ...address, user: "postgres", database: "postgres" });
  const store = postgresTransactions({ pool });
  await store.process(key, (tx) => hang(tx, "$1"), { retentionMs: 3_600_000 });
}
