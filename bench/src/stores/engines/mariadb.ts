import type { RowDataPacket } from "mysql2/promise";
import { startMysql } from "../../../../test/support/mysql/mysql-server.js";
import type { Engine } from "./engine.js";

/** From the catalogue without its cache, since the statistics of InnoDB are estimates. */
const BYTES =
  "SELECT file_size AS bytes FROM information_schema.innodb_sys_tablespaces WHERE name = ?";
const WEEK_MS = 604_800_000;

/** MariaDB, which syncs each commit to the disk. */
export async function startMariadbEngine(contenders: number): Promise<Engine> {
  const server = await startMysql({
    "innodb-flush-method": "fsync",
    "innodb-flush-log-at-trx-commit": "1",
    "innodb-buffer-pool-size": "256M",
    "innodb-log-file-size": "96M",
  });
  const pool = server.pool({ connectionLimit: 1 });
  for (let number = 0; number < contenders; number++) {
    await pool.query(`CREATE DATABASE contender${number}`);
  }
  return {
    port: server.port,
    folder: "",
    databaseOf: (number) => `contender${number}`,
    async syncs() {
      const [rows] = await pool.query<RowDataPacket[]>(
        "SHOW GLOBAL STATUS LIKE 'Innodb_data_fsyncs'",
      );
      return Number(rows[0]?.["Value"]);
    },
    async bytes(database) {
      const [rows] = await pool.query<RowDataPacket[]>(BYTES, [`${database}/gateway_deliveries`]);
      return Number(rows[0]?.["bytes"]);
    },
    remember: (database, count) =>
      pool.query(
        `INSERT INTO ${database}.gateway_deliveries (\`key\`, expires_at)
          SELECT UUID(), ${Date.now() + WEEK_MS} FROM seq_1_to_${count}`,
      ),
    close: server.close,
  };
}
