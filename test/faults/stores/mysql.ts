import { setTimeout as wait } from "node:timers/promises";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { mysqlStore } from "../../../src/stores/mysql/index.js";
import { startMysql } from "../../support/mysql/mysql-server.js";
import type { Setup } from "../plan/mode.js";
import { EFFECTS_TABLE } from "../receivers/receiver-config.js";
import type { StoreServer } from "./store-server.js";

/** The run's own MariaDB server. A restart is a crash: SIGKILL. */
export async function openMysql(setup: Setup): Promise<StoreServer> {
  const server = await startMysql();
  const pool = server.pool({ connectionLimit: 3 });
  try {
    await mysqlStore({ pool }).migrate();
    await pool.query(`CREATE TABLE ${EFFECTS_TABLE} (id varchar(64) NOT NULL)`);
  } catch (error) {
    await server.close();
    throw error;
  }
  let isClosed = false;
  return {
    port: server.port,
    async restart(downMs) {
      await server.stop("crash");
      await wait(downMs);
      if (!isClosed) await server.start();
    },
    lock: (ms) => lockTable(pool, ms),
    mostConnections: () => undefined,
    async read() {
      const storedIds = await readIds(pool, "SELECT `key` AS id FROM gateway_deliveries");
      if (setup !== "transactions-mysql") return { storedIds };
      return { storedIds, exactIds: await readIds(pool, `SELECT id FROM ${EFFECTS_TABLE}`) };
    },
    async close() {
      isClosed = true;
      await server.close();
    },
  };
}

async function readIds(pool: Pool, sql: string): Promise<readonly string[]> {
  const [rows] = await pool.query<RowDataPacket[]>(sql);
  return rows.map(({ id }) => String(id));
}

async function lockTable(pool: Pool, ms: number): Promise<void> {
  const stranger = await pool.getConnection();
  try {
    await stranger.query("LOCK TABLES gateway_deliveries WRITE");
    await wait(ms);
    await stranger.query("UNLOCK TABLES");
  } finally {
    stranger.release();
  }
}
