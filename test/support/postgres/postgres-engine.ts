import type pg from "pg";
import { expect } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import type { PoolSettings, Row, SqlEngine } from "../stores/sql-engine.js";
import { describeService } from "../describe-service.js";
import { hasPostgres, startPostgres } from "./postgres-server.js";

/** PostgreSQL and its stores. */
export const postgresEngine: SqlEngine<pg.Pool> = {
  name: "PostgreSQL",
  store: "postgresStore",
  transactions: "postgresTransactions",
  key: "key",
  text: "text",
  handledKey: "key",
  past: "now() - interval '1 second'",
  later: "now() + interval '1 hour'",
  isolations: ["read committed", "repeatable read", "serializable"],
  oddSessions: [],
  sessionState(pool) {
    return this.rows(
      pool,
      `SELECT (SELECT count(*) FROM pg_prepared_statements)::int AS prepared,
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')::int AS locks,
        (SELECT count(*) FROM pg_settings WHERE source = 'session')::int AS settings`,
    );
  },
  notPools: ["postgres://", { query: 1 }],
  notAPool: "pool must be a Pool of pg, with the method query",
  commit: /COMMIT\0/,
  firstStatement: "BEGIN",
  lost: { message: "Connection terminated unexpectedly" },
  lostAnswer: { message: expect.stringContaining("the statement took longer than") as string },
  openIn: (pool) => pool.totalCount,
  describe(title, body) {
    describeService(title, hasPostgres ? undefined : "initdb and postgres were not found", body);
  },
  async start(settings) {
    const server = await startPostgres({ max_connections: "400", ...settings });
    return { ...server, pool: (given) => makePool(server, given) };
  },
  makeStore: (pool, options) => postgresStore({ pool, ...options }),
  makeTransactions: (pool, options) => postgresTransactions({ pool, ...options }),
  watched: (pool, before) => ({
    async query(sql, values) {
      await before(sql, values);
      return pool.query(sql, values);
    },
  }),
  connect: (pool) => pool.connect(),
  async rows(on, sql, values = []) {
    let count = 0;
    const numbered = sql.replace(/\?/g, () => `$${String((count += 1))}`);
    return ((await on.query(numbered, [...values])) as pg.QueryResult<Row>).rows;
  },
  sleep: (on, seconds) => on.query(`SELECT pg_sleep(${String(seconds)})`),
  async secondsLeft(on, column, key) {
    const left = `extract(epoch FROM ${column} - now())::float8 AS seconds`;
    const sql = `SELECT ${left} FROM gateway_deliveries WHERE key = ?`;
    const [row] = await this.rows(on, sql, [key]);
    return Number(row?.["seconds"] ?? NaN);
  },
  async waitingForRows(pool) {
    return (await this.rows(pool, "SELECT 1 FROM pg_locks WHERE NOT granted")).length;
  },
  async lockTable(pool, table) {
    const stranger = await pool.connect();
    await stranger.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return async () => {
      await stranger.query("ROLLBACK");
      stranger.release();
    };
  },
  async createUser(on, user) {
    await on.query(`CREATE ROLE ${user} LOGIN SUPERUSER`);
  },
  async connectionsOf(on, user) {
    const sql = "SELECT 1 FROM pg_stat_activity WHERE usename = ?";
    return (await this.rows(on, sql, [user])).length;
  },
  async kill(pool, tx) {
    const [own] = await this.rows(tx, "SELECT pg_backend_pid() AS pid");
    await pool.query("SELECT pg_terminate_backend($1)", [own?.["pid"]]);
  },
};

function makePool(
  server: { readonly pool: (config?: pg.PoolConfig) => pg.Pool },
  { isolation, session, driver, ...config }: PoolSettings = {},
): pg.Pool {
  const level = isolation?.replace(" ", "\\ ");
  const options =
    level === undefined ? {} : { options: `-c default_transaction_isolation=${level}` };
  const pool = server.pool({ ...config, ...options, ...(driver as pg.PoolConfig) });
  if (session !== undefined) pool.on("connect", (client) => void client.query(session));
  return pool;
}
