import { requireMethods, ownOptions } from "../../common/option-checks.js";
import { quotedTableName } from "../quoted-table.js";

/** One statement without parameters, and the options of mysql2 that decide what it returns. */
export interface MysqlQuery {
  readonly sql: string;
  /** Always false: rows are objects. */
  readonly rowsAsArray: boolean;
  /** Always false: columns are not grouped by table. */
  readonly nestTables: boolean;
  /** Always true: numbers are numbers, or text in digits. */
  readonly typeCast: boolean;
  /** Always false. */
  readonly namedPlaceholders: boolean;
}

/** What the stores use of a connection that is taken out of a pool. A `PoolConnection` of mysql2 fits. */
export interface MysqlConnection {
  /** Resolves to an array: the rows or the header of the statement, and what the store does not read. */
  query(query: MysqlQuery): Promise<readonly unknown[]>;
  /** Returns the connection to its pool. */
  release(): void;
  /** Closes the connection and takes it out of its pool. */
  destroy(): void;
  /** Adds a listener. A connection that breaks emits `error` or `end`. */
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  /** Removes a listener. */
  off(event: "error" | "end", listener: (error?: Error) => void): unknown;
  /** The server's id of the connection, for KILL. */
  readonly threadId?: number | null;
}

/** What the stores need of a pool of `mysql2/promise`. */
export interface MysqlPromisePool {
  /** Takes a connection out of the pool. */
  getConnection(): Promise<MysqlConnection>;
}

/** What the stores need of a pool of `mysql2` with callbacks. */
interface MysqlCallbackPool {
  /** The same pool with promises. */
  promise(): MysqlPromisePool;
}

/** What the stores need of their `pool`. A pool of mysql2 3 fits, with promises or with callbacks. */
export type MysqlPool = MysqlPromisePool | MysqlCallbackPool;

/** The type of the connections of a pool: `PoolConnection` of `mysql2/promise` for a pool of mysql2. */
export type MysqlConnectionOf<Pool> = Pool extends { promise(): infer PromisePool }
  ? MysqlConnectionOf<PromisePool>
  : Pool extends { getConnection(): Promise<infer Connection> }
    ? Connection
    : never;

/** `pool` with promises. */
export function promisePool(pool: MysqlPool): MysqlPromisePool {
  return "promise" in pool ? pool.promise() : pool;
}

/** How many connections the pool may have; 0 for any number, undefined if it cannot be read. */
export function connectionLimitOf(pool: MysqlPool): unknown {
  interface Core {
    readonly config?: { readonly connectionLimit?: unknown };
  }
  const { pool: core = pool } = pool as { readonly pool?: Core };
  return (core as Core).config?.connectionLimit;
}

/** Options of `mysqlStore` and `mysqlTransactions`. */
export interface MysqlStoreOptions<Pool extends MysqlPool = MysqlPool> {
  /**
   * A pool of mysql2 3, of `mysql2/promise` or with callbacks. Anything else with the same `getConnection`
   * works too. With `mysqlTransactions` each delivery that is being handled takes one connection.
   */
  readonly pool: Pool;
  /**
   * `table` or `database.table`, each part 1 to 64 letters, digits and `_` with no digit first. Default
   * `gateway_deliveries`. Give each application its own table.
   */
  readonly table?: string | undefined;
}

/**
 * The own options of `maker`.
 *
 * @throws ConfigurationError for an unknown option, and for a `pool` that is none.
 */
export function poolOptions<Options extends { readonly pool: MysqlPool }>(
  maker: string,
  options: Options,
): Options {
  const own = ownOptions(maker, options, ["pool", "table"]);
  const isOther = (name: string): string =>
    `pool must be a pool of mysql2, with the method ${name}`;
  requireMethods(own.pool, ["getConnection"], isOther);
  return own;
}

/**
 * `name` for use in SQL: each part in backticks, so that a reserved word works too.
 *
 * @throws ConfigurationError if it is neither `table` nor `database.table`.
 */
export function quotedTable(name?: string): string {
  return quotedTableName({ quote: "`", owner: "database", maxLength: 64 }, name);
}
