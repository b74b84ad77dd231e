import type { SqlDialect } from "../../../../src/stores/sql/index.js";

/** Where a database of the tests is. */
export interface Connection {
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
  /** Of SQLite. */
  readonly filename?: string;
  /** Of Postgres.js: whether it sends the text of a statement once in a connection. */
  readonly prepare?: boolean;
}

/** The database of a server that the tests have started. */
export function addressOf(dialect: SqlDialect, port: number): Connection {
  const isPostgres = dialect === "postgres";
  const name = isPostgres ? "postgres" : "test";
  return { host: "127.0.0.1", port, user: isPostgres ? name : "root", database: name };
}

/** An ORM or a query builder on one database. `Tx` is its own type. */
export interface Orm<Tx = unknown> {
  readonly transaction: (run: (tx: Tx) => Promise<void>) => Promise<unknown>;
  readonly query: (tx: Tx, sql: string, values: readonly unknown[]) => Promise<unknown>;
  /** Writes a row of the table `effects` as its users do. */
  readonly write: (tx: Tx, name: string) => Promise<unknown>;
  /** Runs any statement. */
  readonly run: (tx: Tx, sql: string) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** The ORMs and the databases that each is tried on. */
export const ORMS: readonly (readonly [name: string, dialects: readonly SqlDialect[]])[] = [
  ["prisma", ["postgres", "mysql", "sqlite"]],
  ["typeorm", ["postgres", "mysql", "sqlite"]],
  ["mikro-orm", ["postgres", "mysql", "sqlite"]],
  ["sequelize", ["postgres", "mysql"]],
  ["knex", ["postgres", "mysql", "sqlite"]],
  ["drizzle", ["postgres", "mysql", "sqlite"]],
  ["kysely", ["postgres", "mysql", "sqlite"]],
  ["postgres-js", ["postgres"]],
];

/** Opens one. Its packages are in this folder alone. */
export async function openOrm(
  name: string,
  dialect: SqlDialect,
  connection: Connection,
): Promise<Orm> {
  const { open } = (await import(`./${name}.mjs`)) as {
    open: (options: object) => Promise<Orm>;
  };
  return open({ dialect, connection, connections: CONNECTIONS });
}

/** Of each ORM. */
export const CONNECTIONS = 20;
