import { checkVersion, requireMethods, ownOptions } from "../../common/option-checks.js";
import { quotedTableName } from "../quoted-table.js";

/** The part of a query's result that the stores read. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
  /** The first word of the command tag. The server answers `ROLLBACK` to a COMMIT that could only roll back. */
  readonly command: string;
}

/**
 * What `postgresStore` needs of its `pool`. A `Pool` of pg 8 fits. The store also uses `connect` of a pool
 * that has `totalCount`, as the `Pool` of pg has.
 */
export interface PostgresPool {
  /** Runs one statement with parameters, or a text of several statements without. */
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

/**
 * What the stores use of a client that is checked out of a pool. A `PoolClient` of pg 8 fits. For a text
 * of several statements, `query` resolves to an array of results.
 */
export interface PostgresClient extends PostgresPool {
  /** Returns the client to its pool. With an error, the pool closes the connection. */
  release(error?: Error): void;
  /** Closes the connection. */
  end?(): Promise<void>;
  /** Adds a listener. A connection that breaks emits `error`. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Removes a listener. */
  off(event: "error", listener: (error: Error) => void): unknown;
  /** `I` outside a transaction, `T` and `E` inside one. Older releases of pg 8 do not have it. */
  getTransactionStatus?(): string | null;
}

/** What `postgresTransactions` needs of its `pool`. A `Pool` of pg 8 fits. */
export interface PostgresTransactionPool extends PostgresPool {
  /** Takes a client out of the pool. */
  connect(): Promise<PostgresClient>;
  /** `max`: how many clients the pool may have. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/**
 * The type of the clients of a pool: `PoolClient` for a `Pool` of pg. The first branch names the overload
 * of pg that takes a callback: TypeScript infers from the last overload, and that returns no client.
 */
export type PostgresClientOf<Pool> = Pool extends {
  connect: { (): Promise<infer Client>; (callback: never): void };
}
  ? Client
  : Pool extends { connect(): Promise<infer Client> }
    ? Client
    : never;

/**
 * The own options of `maker`, which are `pool`, `table` and `more`.
 *
 * @throws ConfigurationError for an unknown option, and for a `pool` that lacks one of `methods`.
 */
export function poolOptions<Options extends { readonly pool: unknown }>(
  maker: string,
  options: Options,
  methods: readonly string[],
  more: readonly string[] = [],
): Options {
  const own = ownOptions(maker, options, ["pool", "table", ...more]);
  checkVersion("pool", own.pool, methods, "pg", "pg 8 and later");
  requireMethods(own.pool, methods, (name) => `pool must be a Pool of pg, with the method ${name}`);
  return own;
}

/**
 * `name` for use in SQL: each part in double quotes, so that a reserved word works too.
 *
 * @throws ConfigurationError if it is neither `table` nor `schema.table`.
 */
export function quotedTable(name?: string): string {
  // PostgreSQL truncates a longer name, so two tables could become one.
  return quotedTableName({ quote: '"', owner: "schema", maxLength: 63 }, name);
}
