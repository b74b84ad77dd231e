import type { Pool, PoolOptions, ResultSetHeader } from "mysql2/promise";
import {
  type MysqlConnection,
  mysqlStore,
  mysqlTransactions,
} from "../../../src/stores/mysql/index.js";
import type { MysqlPromisePool } from "../../../src/stores/mysql/mysql-pool.js";
import type { PoolSettings, Row, Sql, SqlEngine } from "../stores/sql-engine.js";
import { describeService } from "../describe-service.js";
import { hasMysql, type MysqlServer, startMysql } from "./mysql-server.js";

/** `pool`, with `before` called and awaited ahead of each statement that the store sends. */
function watchedPool(
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

/** MariaDB and the stores of MySQL. */
export const mysqlEngine: SqlEngine<Pool> = {
  name: "MySQL",
  store: "mysqlStore",
  transactions: "mysqlTransactions",
  key: "`key`",
  text: "varbinary(255)",
  handledKey: "owner IS NULL AND `key`",
  past: "1",
  later: "9999999999999",
  isolations: ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "READ UNCOMMITTED"],
  oddSessions: ["SET innodb_snapshot_isolation = ON", "SET innodb_lock_wait_timeout = 0"],
  async sessionState(pool) {
    const settings = await this.rows(
      pool,
      `SELECT variable_name, variable_value FROM information_schema.session_variables
        WHERE variable_name NOT IN ('TIMESTAMP', 'LAST_INSERT_ID', 'INSERT_ID', 'LAST_GTID')
        AND variable_name NOT LIKE 'RAND_SEED%' AND variable_name NOT LIKE 'WARNING_COUNT'`,
    );
    return [settings, await this.rows(pool, "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")];
  },
  notPools: ["mysql://", { getConnection: 1 }],
  notAPool: "pool must be a pool of mysql2, with the method getConnection",
  commit: /COMMIT AND NO CHAIN/,
  firstStatement: "DO 0",
  lost: { code: "PROTOCOL_CONNECTION_LOST" },
  lostAnswer: { code: "lost_answer" },
  openIn: () => undefined,
  describe(title, body) {
    const missing = "mariadbd and mariadb-install-db were not found";
    describeService(title, hasMysql ? undefined : missing, body);
  },
  async start(settings) {
    const server = await startMysql(settings);
    return { ...server, pool: (given) => makePool(server, given) };
  },
  makeStore: (pool, options) => mysqlStore({ pool, ...options }),
  makeTransactions: (pool, options) => mysqlTransactions({ pool, ...options }),
  watched: (pool, before) => watchedPool(pool, (sql) => before(sql, undefined)) as unknown as Sql,
  connect: (pool) => pool.getConnection(),
  async rows(on, sql, values = []) {
    const [rows] = (await on.query(sql, [...values])) as [Row[] | ResultSetHeader, unknown];
    return Array.isArray(rows) ? rows : [];
  },
  sleep: (on, seconds) => on.query(`DO SLEEP(${String(seconds)})`),
  async secondsLeft(on, column, key) {
    const sql = `SELECT ${column} AS ms FROM gateway_deliveries WHERE \`key\` = ?`;
    const [row] = await this.rows(on, sql, [key]);
    return (Number(row?.["ms"] ?? NaN) - Date.now()) / 1000;
  },
  async waitingForRows(pool) {
    const waits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
    const [row] = await this.rows(pool, waits);
    return Number(row?.["Value"]);
  },
  async lockTable(pool, table) {
    const stranger = await pool.getConnection();
    await stranger.query(`LOCK TABLES ${table} WRITE`);
    return async () => {
      await stranger.query("UNLOCK TABLES");
      stranger.release();
    };
  },
  async createUser(on, user) {
    await on.query(`CREATE USER ${user}`);
    await on.query(`GRANT ALL ON *.* TO ${user}`);
  },
  async connectionsOf(on, user) {
    const sql = "SELECT 1 FROM information_schema.processlist WHERE user = ?";
    return (await this.rows(on, sql, [user])).length;
  },
  async kill(pool, tx) {
    const [own] = await this.rows(tx, "SELECT CONNECTION_ID() AS id");
    await pool.query(`KILL ${String(own?.["id"])}`);
  },
};

function makePool(
  server: MysqlServer,
  { max: connectionLimit = 10, isolation, session, driver, ...config }: PoolSettings = {},
): Pool {
  const pool = server.pool({ connectionLimit, ...config, ...(driver as PoolOptions) });
  const level =
    isolation === undefined ? "" : `SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}`;
  for (const sql of [level, session ?? ""].filter((text) => text !== "")) {
    pool.pool.on("connection", (connection) => void connection.query(sql));
  }
  return pool;
}
