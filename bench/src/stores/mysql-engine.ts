import type { ResultSetHeader, RowDataPacket } from "mysql2/promise";
import { mysqlStore } from "identity-gateway-webhooks/mysql";
import { startMysql } from "../../../test/support/mysql/mysql-server.js";
import { AT_A_TIME, type Engine } from "./engine.js";

const CREATE_RAW =
  "CREATE TABLE raw (id varbinary(255) PRIMARY KEY, owner varbinary(255), ends bigint)";
const INSERT_RAW = "INSERT IGNORE INTO raw VALUES (?, 'owner', 1)";
/** From the catalogue without its cache, since the statistics of InnoDB are estimates. */
const BYTES =
  "SELECT file_size AS bytes FROM information_schema.innodb_sys_tablespaces WHERE name = 'test/gateway_deliveries'";

/** MariaDB through mysql2, with as many connections as PostgreSQL gets. Each commit is flushed to the disk. */
export async function throughMysql2(): Promise<Engine> {
  const server = await startMysql({
    ...{ "innodb-flush-method": "fsync", "innodb-flush-log-at-trx-commit": "1" },
    ...{ "innodb-buffer-pool-size": "256M", "innodb-log-file-size": "96M" },
  });
  const pool = server.pool({ connectionLimit: 10 });
  const store = mysqlStore({ pool });
  await store.migrate();
  await pool.query(CREATE_RAW);
  return {
    name: "MariaDB, mysql2",
    store,
    raw: "`INSERT IGNORE`",
    async rawWrite(key) {
      const [{ affectedRows }] = await pool.query<ResultSetHeader>(INSERT_RAW, [key]);
      return affectedRows === 1;
    },
    atATime: AT_A_TIME,
    async empty() {
      await pool.query("TRUNCATE raw");
      await pool.query("TRUNCATE gateway_deliveries");
    },
    async bytes() {
      const [rows] = await pool.query<RowDataPacket[]>(BYTES);
      return Number(rows[0]?.["bytes"]);
    },
    close: server.close,
  };
}
