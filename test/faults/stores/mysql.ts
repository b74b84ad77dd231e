import { setTimeout as wait } from "node:timers/promises";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { mysqlStore } from "../../../src/stores/mysql/index.js";
import { startMysql } from "../../support/mysql/mysql-server.js";
import type { Setup } from "../plan/mode.js";
import { EFFECTS_TABLE, PAIRS, PAIRS_TABLE } from "../receivers/receiver-config.js";
import { crashingStore, type StoreServer } from "./store-server.js";

/** Half of those that are being handled, as far as no other transaction has them. */
const LOCK_ROWS = `SELECT 1 FROM gateway_deliveries WHERE owner IS NOT NULL AND RAND() < 0.5
  FOR UPDATE SKIP LOCKED`;

/** The run's own MariaDB server. A restart is a crash: SIGKILL. */
export async function openMysql(setup: Setup): Promise<StoreServer> {
  const server = await startMysql();
  const pool = server.pool({ connectionLimit: 3 });
  try {
    await mysqlStore({ pool }).migrate();
    await pool.query(`CREATE TABLE ${EFFECTS_TABLE} (id varchar(64) NOT NULL)`);
    await pool.query(`CREATE TABLE ${PAIRS_TABLE} (name varchar(8) PRIMARY KEY, count int)`);
    await pool.query(`INSERT INTO ${PAIRS_TABLE} VALUES ${PAIRS}`);
  } catch (error) {
    await server.close();
    throw error;
  }
  return crashingStore(server, () => server.stop("crash"), {
    lock: (ms) => hold(pool, ["LOCK TABLES gateway_deliveries WRITE"], ms),
    // A server that is down has no rows to lock.
    lockRows: (ms) => hold(pool, ["START TRANSACTION", LOCK_ROWS], ms).catch(() => undefined),
    async read() {
      const storedIds = await readIds(pool, "SELECT `key` AS id FROM gateway_deliveries");
      if (setup !== "transactions-mysql") return { storedIds };
      return { storedIds, exactIds: await readIds(pool, `SELECT id FROM ${EFFECTS_TABLE}`) };
    },
    close: server.close,
  });
}

async function readIds(pool: Pool, sql: string): Promise<readonly string[]> {
  const [rows] = await pool.query<RowDataPacket[]>(sql);
  return rows.map(({ id }) => String(id));
}

/** Runs statements that lock, and ends their locks after `ms`, or when the server crashes. */
async function hold(pool: Pool, statements: readonly string[], ms: number): Promise<void> {
  const stranger = await pool.getConnection();
  try {
    for (const statement of statements) await stranger.query(statement);
    await wait(ms);
    await stranger.query("ROLLBACK");
    await stranger.query("UNLOCK TABLES");
    stranger.release();
  } catch {
    stranger.destroy();
  }
}
