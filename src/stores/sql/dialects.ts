// The statements of `sqlTransactions`, on the table that the stores of the same database use. They hold their values:
// what marks a parameter differs from ORM to ORM. Only SELECTs are read: what a write resolves to differs as well.
import { invalidOption } from "../../common/errors.js";
import {
  literal as mysqlLiteral,
  NOW_MS,
  fromNow as mysqlFromNow,
  limited,
} from "../mysql/sql-text.js";
import { mysqlSchema } from "../mysql/mysql-schema.js";
import { quotedTable as mysqlTable } from "../mysql/mysql-pool.js";
import { postgresSchema } from "../postgres/postgres-schema.js";
import { quotedTable as postgresTable } from "../postgres/postgres-pool.js";
import {
  fromNow as postgresFromNow,
  LEASE_LEFT_MS,
  literal as postgresLiteral,
  lockOf,
  SYNCHRONOUS_COMMIT,
} from "../postgres/sql-text.js";
import { createTableSql, NOW, tableName } from "../sqlite-table.js";

/** The databases of `sqlTransactions`. MariaDB is `mysql`. */
export type SqlDialect = "postgres" | "mysql" | "sqlite";

/** What `look` finds of a key, as a number: an ORM may return a text as bytes. The highest one counts. */
export const STATE = { ended: 1, own: 2, inFlight: 3, completed: 4 } as const;

/** How one database says what the statements need. All texts are SQL. */
interface Words {
  readonly table: string;
  readonly literal: (value: string) => string;
  /** The key's column, and those of the two times. */
  readonly key: string;
  readonly leaseUntil: string;
  readonly expiresAt: string;
  /** The database's clock, and the time in some milliseconds from now. */
  readonly now: string;
  readonly fromNow: (ms: number) => string;
  /** The milliseconds until the lease ends. */
  readonly leaseLeftMs: string;
  /** An INSERT of a row, which changes nothing if the key has one. */
  readonly insert: (columns: string, values: readonly string[], key: string) => string;
  /** The end of a SELECT that must see the newest row, and says if another transaction holds the key. */
  readonly lookEnd: (key: string) => string;
  /** A condition of the completion, with an effect on the commit. */
  readonly onCommit?: string;
  /** The end of a write. */
  readonly returning?: string;
}

/** A limit for a statement that waits for a row, in milliseconds. MySQL takes whole seconds. */
const WAIT_MS = 1_000;

const WORDS: Readonly<Record<SqlDialect, (table: string | undefined) => Words>> = {
  postgres(name) {
    const table = postgresTable(name);
    return {
      table,
      literal: postgresLiteral,
      key: "key",
      leaseUntil: "lease_until",
      expiresAt: "expires_at",
      now: "clock_timestamp()",
      fromNow: (ms) => postgresFromNow(String(ms)),
      leaseLeftMs: LEASE_LEFT_MS,
      // An INSERT would wait for another transaction that has inserted the same key.
      insert: (columns, values, key) => `INSERT INTO ${table} (${columns})
        SELECT ${values.join(", ")} WHERE ${lockOf(table, key)} ON CONFLICT (key) DO NOTHING`,
      lookEnd: (key) =>
        `UNION ALL SELECT ${String(STATE.inFlight)}, false, NULL WHERE NOT ${lockOf(table, key)}`,
      onCommit: `AND ${SYNCHRONOUS_COMMIT} IS NOT NULL`,
    };
  },
  mysql(name) {
    const table = mysqlTable(name);
    return {
      table,
      literal: mysqlLiteral,
      key: "`key`",
      leaseUntil: "lease_until",
      expiresAt: "expires_at",
      now: NOW_MS,
      fromNow: mysqlFromNow,
      leaseLeftMs: `COALESCE(lease_until - ${NOW_MS}, 1)`,
      // Waits for at most a second for another transaction that has inserted the same key. Without IGNORE, which would
      // take a text that is too long, and lock the row in a mode of which two make a deadlock.
      insert: (columns, values) =>
        limited(
          `INSERT INTO ${table} (${columns}) VALUES (${values.join(", ")}) ON DUPLICATE KEY UPDATE takeover = takeover`,
          WAIT_MS,
        ),
      // A plain read would fix what the handler sees to what is committed now.
      lookEnd: () => "FOR UPDATE",
    };
  },
  sqlite(name) {
    const table = `"${tableName(name)}"`;
    return {
      table,
      literal: (value) => `'${value.replaceAll("'", "''")}'`,
      key: "key",
      leaseUntil: "lease_ends_at",
      expiresAt: "forget_at",
      now: NOW,
      fromNow: (ms) => `${NOW} + ${String(Math.ceil(ms))}`,
      leaseLeftMs: `lease_ends_at - ${NOW}`,
      insert: (columns, values) => `INSERT INTO ${table} (${columns})
        VALUES (${values.join(", ")}) ON CONFLICT (key) DO NOTHING RETURNING 1`,
      lookEnd: () => "",
      // Some drivers take only statements that return rows.
      returning: "RETURNING 1",
    };
  },
};

/** @throws ConfigurationError (`invalid_option`) if it is none of the databases. */
export function checkDialect(dialect: unknown): void {
  const known = Object.keys(WORDS);
  if (!known.some((one) => one === dialect)) {
    throw invalidOption(`dialect must be ${known.join(", ")}`);
  }
}

/** The statements on a table, each for one attempt to handle a delivery, which has an owner of its own. */
export function statementsOf(dialect: SqlDialect, table: string | undefined) {
  const words = WORDS[dialect](table);
  const {
    literal,
    key,
    leaseUntil,
    expiresAt,
    now,
    fromNow,
    returning = "",
    onCommit = "",
  } = words;
  const isKey = (value: string): string => `${key} = ${literal(value)}`;
  const isOver = `(${expiresAt} <= ${now} OR ${leaseUntil} <= ${now})`;
  return {
    /**
     * Adds the row as a lease that has ended, unless there is one: if the handler commits its transaction early, the
     * delivery is not known as handled, and its next run is a takeover.
     */
    insert: (delivery: string, owner: string, retentionMs: number): string =>
      words.insert(
        [key, "owner", leaseUntil, expiresAt].join(", "),
        [literal(delivery), literal(owner), now, fromNow(retentionMs)],
        literal(delivery),
      ),
    /** One word for each column, in lower case: ORMs rename others. */
    look: (delivery: string, owner: string): string => `SELECT
        CASE
          WHEN owner = ${literal(owner)} THEN ${String(STATE.own)}
          WHEN ${isOver} THEN ${String(STATE.ended)}
          WHEN owner IS NULL THEN ${String(STATE.completed)}
          ELSE ${String(STATE.inFlight)}
        END AS state,
        takeover AS takeover,
        ${words.leaseLeftMs} AS remaining
      FROM ${words.table} WHERE ${isKey(delivery)} ${words.lookEnd(literal(delivery))}`,
    /** Takes over a row that counts as absent, or whose lease has ended. `takeover` first: MySQL sets one after the other. */
    take: (delivery: string, owner: string, retentionMs: number): string => `UPDATE ${words.table}
      SET takeover = ${expiresAt} > ${now}, owner = ${literal(owner)}, ${leaseUntil} = ${now},
        ${expiresAt} = ${fromNow(retentionMs)}
      WHERE ${isKey(delivery)} AND ${isOver} ${returning}`,
    complete: (deliveries: readonly string[], owner: string, retentionMs: number): string =>
      `UPDATE ${words.table}
      SET owner = NULL, ${leaseUntil} = NULL, ${expiresAt} = ${fromNow(retentionMs)}
      WHERE ${key} IN (${deliveries.map(literal).join(", ")}) AND owner = ${literal(owner)} ${onCommit} ${returning}`,
  };
}

/**
 * The SQL that creates the table of `sqlTransactions`, for a migration of your ORM: the same table as that of the other
 * stores on this database. Running it again changes nothing.
 *
 * @param table As the option of `sqlTransactions`. Default `gateway_deliveries`.
 * @throws ConfigurationError (`invalid_option`) for an unknown dialect, and if `table` is no name that it takes.
 */
export function sqlSchema(dialect: SqlDialect, table?: string): string {
  checkDialect(dialect);
  if (dialect === "postgres") return postgresSchema(table);
  return dialect === "mysql" ? mysqlSchema(table) : `${createTableSql(tableName(table))};\n`;
}
