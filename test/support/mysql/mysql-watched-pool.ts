import type { Pool } from "mysql2/promise";
import type { MysqlConnection } from "../../../src/stores/mysql/index.js";
import type { MysqlPromisePool } from "../../../src/stores/mysql/mysql-pool.js";

/** `pool`, with `before` called and awaited ahead of each statement that the store sends. */
export function watchedPool(
  pool: Pool,
  before: (sql: string) => Promise<void> | undefined,
): MysqlPromisePool {
  return {
    async getConnection() {
      const connection: MysqlConnection = await pool.getConnection();
      const query = connection.query.bind(connection);
      connection.query = async (options) => {
        await before(options.sql);
        return query(options);
      };
      return connection;
    },
  };
}
