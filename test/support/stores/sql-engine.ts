import type { PoolOptions as MysqlOptions } from "mysql2/promise";
import type pg from "pg";
import { afterAll, beforeAll, expect } from "vitest";
import type { DeliveryStore, TransactionalStore } from "../../../src/index.js";
import type { TableMaintenance } from "../../../src/stores/table-maintenance.js";
import type { DatabaseServer } from "../database-server.js";
import { TIMES } from "./store-cases.js";

/** What sends statements: a pool, a connection, or the `tx` of a handler. */
export interface Sql {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

/** A row of a result. */
export type Row = Readonly<Record<string, unknown>>;

/** A connection of a pool, which a test holds until it releases it. */
export interface HeldConnection extends Sql {
  release(): void;
}

/** How a pool differs from one of ten connections to the server. */
export interface PoolSettings {
  /** The most connections. */
  readonly max?: number;
  readonly port?: number;
  /** A user of the server, made by `createUser`. */
  readonly user?: string;
  /** Isolation level of its transactions. */
  readonly isolation?: string;
  /** Each connection runs it first. */
  readonly session?: string;
  /** More options of mysql2 or pg. */
  readonly driver?: MysqlOptions | pg.PoolConfig;
}

/** A server for one test file. */
type SqlServer<Pool> = DatabaseServer<Pool, PoolSettings>;

/** What handlers wrote for a delivery, in a table of their own. */
type Effects = Awaited<ReturnType<typeof createEffects>>;

/** The server of the tests in a `describe`, with the stores' table and a table of effects. Filled before the first. */
interface Database<Pool extends Sql> {
  server: SqlServer<Pool>;
  pool: Pool;
  effects: Effects;
}

interface Options {
  readonly table?: string;
  /** Of the stores of PostgreSQL. */
  readonly prepare?: boolean;
}

/** A database server and the stores on it, for tests that are the same on each. */
export interface SqlEngine<Pool extends Sql = Sql> {
  readonly name: "MySQL" | "PostgreSQL";
  /** The names of the two functions that make a store. */
  readonly store: string;
  readonly transactions: string;
  /** The column of the key, quoted. */
  readonly key: string;
  /** The type of a column for any key. */
  readonly text: string;
  /** How `WHERE` begins that finds the row of a handled key. */
  readonly handledKey: string;
  /** Values of `expires_at`. */
  readonly past: string;
  readonly later: string;
  readonly isolations: readonly string[];
  /** Statements after which each connection works otherwise than by default. */
  readonly oddSessions: readonly string[];
  /** What a call could leave on the connection of a pool with one. */
  sessionState(pool: Pool): Promise<unknown>;
  /** What is no pool, besides what is none on any engine, and how its refusal begins. */
  readonly notPools: readonly unknown[];
  readonly notAPool: string;
  /** By which a proxy knows a COMMIT. */
  readonly commit: RegExp;
  /** The statement with which a transaction begins, as an error names it. */
  readonly firstStatement: string;
  /** Properties of the error of a call whose connection breaks. */
  readonly lost: object;
  /** Properties of the error of a claim that gets no answer in time. */
  readonly lostAnswer: object;
  /** How many connections a pool has. Undefined: its driver does not tell. */
  openIn(pool: Pool): number | undefined;
  /** `describe` for tests that start the server. */
  readonly describe: (title: string, body: () => void) => void;
  readonly start: (settings?: Readonly<Record<string, string>>) => Promise<SqlServer<Pool>>;
  makeStore(pool: Pool, options?: Options): DeliveryStore & TableMaintenance;
  makeTransactions(pool: Pool, options?: Options): TransactionalStore<Sql> & TableMaintenance;
  /** `pool`, with `before` called and awaited ahead of each statement that a store sends. */
  watched(pool: Pool, before: (sql: string, values: unknown) => Promise<void> | undefined): Sql;
  connect(pool: Pool): Promise<HeldConnection>;
  /** Runs a statement with `?` for each value. */
  rows(on: Sql, sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  sleep(on: Sql, seconds: number): Promise<unknown>;
  /** Seconds until a time in the row of `key`, by the host's clock: negative in the past. NaN: there is none. */
  secondsLeft(on: Sql, column: string, key: string): Promise<number>;
  /** How many transactions wait for a row or a lock of another one. */
  waitingForRows(pool: Pool): Promise<number>;
  /** Locks a table until the returned function is called. */
  lockTable(pool: Pool, table: string): Promise<() => Promise<void>>;
  /** Makes a user who may do everything. */
  createUser(on: Sql, user: string): Promise<void>;
  /** How many connections of `user` the server has. */
  connectionsOf(on: Sql, user: string): Promise<number>;
  /** Ends the server's side of a transaction's connection. */
  kill(pool: Pool, tx: Sql): Promise<void>;
}

/** Makes the effects table of the database that `pool` is connected to. */
export async function createEffects<Pool extends Sql>(engine: SqlEngine<Pool>, pool: Pool) {
  await pool.query(`CREATE TABLE IF NOT EXISTS effects (name ${engine.text} NOT NULL)`);
  const count = async (from: string, key: string) =>
    (await engine.rows(pool, `SELECT 1 FROM ${from} = ?`, [key])).length;
  return {
    /** Writes one effect of `key`, as a handler does. */
    async write(tx: Sql, key: string): Promise<void> {
      await engine.rows(tx, "INSERT INTO effects (name) VALUES (?)", [key]);
    },
    /** How many effects of `key` are committed. */
    of: (key: string) => count("effects WHERE name", key),
    /** How many rows that remember `key` are committed. */
    remembered: (key: string) => count(`gateway_deliveries WHERE ${engine.handledKey}`, key),
  };
}

/** Starts a server for the tests of a `describe`. Its tables are made before the first of them. */
export function databaseOf<Pool extends Sql>(
  engine: SqlEngine<Pool>,
  settings?: PoolSettings,
): Database<Pool> {
  const database = {} as Database<Pool>;
  beforeAll(async () => {
    database.server = await engine.start();
    database.pool = database.server.pool(settings);
    await engine.makeStore(database.pool).migrate();
    database.effects = await createEffects(engine, database.pool);
  });
  afterAll(() => (database as Partial<Database<Pool>>).server?.close());
  return database;
}

/** Processes `key` again while the server has not noticed the end of an earlier transaction. */
export async function processLater(
  engine: SqlEngine,
  { pool, effects }: Database<Sql>,
  key: string,
): Promise<string> {
  for (;;) {
    const store = engine.makeTransactions(pool);
    const { state } = await store.process(key, (tx) => effects.write(tx, key), TIMES);
    if (state !== "in_flight") return state;
    await engine.sleep(pool, 0.02);
  }
}

/** Processes `key` with a handler that writes one effect and then does what the test wants. */
export function processWriting<Tx extends Sql>(
  store: TransactionalStore<Tx>,
  effects: Effects,
  key: string,
  beside: (tx: Tx) => unknown,
): Promise<unknown> {
  const work = async (tx: Tx) => {
    await effects.write(tx, key);
    await beside(tx);
  };
  return Promise.resolve(store.process(key, work, TIMES));
}

/** Processes `key`, with a handler that does nothing or `work`, and expects that it is committed. */
export async function expectProcessed<Tx>(
  store: TransactionalStore<Tx>,
  key: string,
  work: (tx: Tx) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  expect(await store.process(key, work, TIMES)).toEqual({ state: "processed" });
}

/** Expects that `key` is remembered, and that no handler runs for it. */
export async function expectDuplicate<Tx>(
  store: TransactionalStore<Tx>,
  key: string,
): Promise<void> {
  expect(await store.process(key, mustNotRun, TIMES)).toEqual({ state: "completed" });
}

/** The work of a delivery that must not be processed. */
export function mustNotRun(): Promise<void> {
  return Promise.reject(new Error("the handler was called"));
}

/** `count` keys in descending order, at most 800. */
export function keysOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${String(999 - index)}`);
}
