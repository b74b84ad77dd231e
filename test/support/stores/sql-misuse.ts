import type { SQL } from "drizzle-orm";
import { drizzle as drizzleMysql } from "drizzle-orm/mysql2";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import type { PoolConnection, ResultSetHeader } from "mysql2/promise";
import type pg from "pg";
import { promisify } from "node:util";
import type { Sql, SqlEngine } from "./sql-engine.js";

/** What a query builder does with SQL. */
interface Executes {
  execute(query: SQL): PromiseLike<unknown>;
}

/** What a handler kept of its transaction, and calls when it must not. */
interface KeptTransaction {
  readonly tx: Sql;
  /** What must reject. */
  readonly rejected: readonly (() => Promise<unknown>)[];
  /** What must throw. */
  readonly thrown: readonly (() => unknown)[];
  /** What must do neither. */
  readonly allowed: () => unknown;
}

/** How a handler can misuse its transaction, on one engine. */
interface Misuse<Tx> {
  /** Texts that would end the transaction or outlive it. */
  readonly refused: readonly string[];
  /** Texts that do neither, sent one after the other. */
  readonly allowed: readonly (readonly string[])[];
  /** What a server skips ahead of a COMMIT, `count` times. */
  skipped(count: number): readonly string[];
  /** Of these and a statement, texts are made that the server may or may not read as a COMMIT. */
  readonly marks: readonly string[];
  readonly harmless: string;
  readonly texts: number;
  /** Texts that end the transaction where tx cannot see it. */
  readonly endings: readonly string[];
  /** All ways to send a text. Each must reject. */
  waysToSend(tx: Tx, text: string): readonly (() => Promise<unknown>)[];
  /** Whether the server reads a COMMIT in `text`. Undefined: it refuses the text. */
  isCommit(on: Tx, text: string): Promise<boolean | undefined>;
  queryBuilder(tx: Tx): Executes & {
    transaction(work: (on: Executes) => Promise<void>): Promise<void>;
  };
  keep(tx: Tx): Promise<KeptTransaction>;
}

/** The connection of mysql2 with callbacks that is inside one with promises. */
interface CallbackConnection {
  query(text: string, callback?: (error: Error | null) => void): unknown;
  promise(): PoolConnection;
}

const mysqlMisuse: Misuse<PoolConnection> = {
  refused: [
    "BEGIN",
    "COMMIT",
    "COMMIT AND CHAIN",
    "ROLLBACK",
    "XA START 'x'",
    "LOCK TABLES others READ",
    "SET autocommit = 1",
    "SET @a = 1",
    "USE mysql",
    "CREATE TABLE made (id int)",
    "ALTER TABLE others ADD b int",
    "DROP TABLE others",
    "TRUNCATE others",
    "RENAME TABLE others TO b",
    "GRANT SELECT ON *.* TO root",
    "ANALYZE TABLE others",
    "UNLOCK TABLES",
    "FLUSH TABLES",
    "CREATE INDEX i ON others (id)",
    "/* tenant */ SET NAMES latin1",
    "/*!COMMIT*/",
    "START/* */TRANSACTION",
    "COMMIT-- x",
    "ROLLBACK; TO a",
    "BEGIN NOT ATOMIC SELECT 1; END",
  ],
  allowed: [
    ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE SAVEPOINT a"],
    ["SELECT 'COMMIT'", "/* SET */ SELECT 1", "-- COMMIT\nSELECT 1", "# COMMIT\nSELECT 1"],
    ["CREATE TEMPORARY TABLE scratch (id int)", "DROP TEMPORARY TABLE scratch"],
    ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n work to a"],
    ["REPLACE INTO others VALUES (1)", "DELETE FROM others", "DO 1", "SELECT 1 -- COMMIT"],
  ],
  skipped: (count) =>
    ["/**/", "/***/;", "#\n", "-- \n", " ", "/*!", "*/"].map((part) => part.repeat(count)),
  marks: [
    "/*",
    "*/",
    "-- ",
    "--",
    "\n",
    "#",
    " ",
    "\t",
    ";",
    "/",
    "*",
    "-",
    "!",
    "/*!",
    "/*M!",
    "/*!50000 ",
    "/* a */",
    "-- a\n",
    "#a\n",
  ],
  harmless: "DO 1",
  texts: 1_000,
  endings: [
    "SELECT 1; COMMIT",
    "SELECT 1; ROLLBACK",
    "SELECT 1; BEGIN",
    "SELECT 1; COMMIT AND CHAIN",
    "SELECT 1; COMMIT; BEGIN",
    "CALL commits()",
    "SELECT 1; SET autocommit = 1",
    "SELECT 1; CREATE TABLE IF NOT EXISTS made (id int)",
    "SELECT 1; TRUNCATE others",
  ],
  waysToSend(tx, text) {
    const callbacks = tx.connection as unknown as CallbackConnection;
    return [
      () => tx.query(text),
      () => tx.query({ sql: text }),
      () => tx.execute(text),
      () => tx.prepare(text),
      () => promisify((done: (error: Error | null) => void) => callbacks.query(text, done))(),
      // Without a callback it throws.
      () => Promise.resolve().then(() => callbacks.query(text)),
      () => callbacks.promise().query(text),
    ];
  },
  async isCommit(on, text) {
    await on.query("START TRANSACTION");
    return on.query<ResultSetHeader>(text).then(
      ([{ serverStatus }]) => (serverStatus & 1) === 0,
      () => undefined,
    );
  },
  queryBuilder: (tx) => drizzleMysql(tx),
  async keep(tx) {
    const prepared = await tx.prepare("INSERT INTO effects VALUES (?)");
    return {
      tx,
      rejected: [() => tx.execute("SELECT 1"), () => prepared.execute(["late"]), () => tx.ping()],
      thrown: [() => tx.escape("x"), () => tx.format("?", [1]), () => tx.release()],
      allowed: () => tx.off("drain", () => undefined),
    };
  },
};

const postgresMisuse: Misuse<pg.PoolClient> = {
  refused: [
    "BEGIN",
    "COMMIT",
    "END",
    "ABORT",
    "ROLLBACK",
    "ROLLBACK AND CHAIN",
    "PREPARE TRANSACTION 'x'",
    "SET search_path TO other",
    "set session role receiver",
    "DISCARD ALL",
    "RESET search_path",
    "/* tenant */ SET search_path TO other",
    "-- of b\nset role b",
    '/**/SET/**/"role" TO b',
    "-- report.sql\nBEGIN; SELECT 1; COMMIT;",
    "/* a /* b */ c */ ROLLBACK",
    "start/* */transaction",
    "COMMIT--",
    "ROLLBACK; TO a",
    "PREPARE -- x\n TRANSACTION 'x'",
    "SET local.role TO b",
  ],
  allowed: [
    ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE a"],
    ["SET LOCAL search_path TO other", "SET CONSTRAINTS ALL DEFERRED"],
    ["SET TRANSACTION READ WRITE", "SELECT 'COMMIT'", "/* SET */ SELECT 1"],
    ["/* COMMIT; */ SET/**/LOCAL -- role\n search_path TO other", "-- COMMIT\nSELECT 1"],
    ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n transaction TO a"],
    ["", " ; -- nothing", "/* /* */ COMMIT; */ SELECT 1"],
  ],
  skipped: (count) => [
    "/*".repeat(count) + "*/".repeat(count),
    ...["/**/", "/***/;", "--\n", "--", " "].map((part) => part.repeat(count)),
  ],
  marks: [
    "/*",
    "*/",
    "--",
    "\n",
    "\r",
    "\f",
    " ",
    ";",
    "/",
    "*",
    "-",
    "/* a */",
    "/*/**/*/",
    "--a\n",
  ],
  harmless: "SELECT 1",
  texts: 500,
  endings: [
    "SELECT 1; COMMIT",
    "SELECT 1; ROLLBACK",
    "SELECT 1; BEGIN; COMMIT",
    "SELECT 1; COMMIT; BEGIN",
    "SELECT 1; ROLLBACK; BEGIN",
    "SELECT 1; COMMIT AND CHAIN",
  ],
  waysToSend: (tx, text) => [
    () => tx.query(text),
    () => tx.query({ text }),
    () => promisify((done: (error: Error) => void) => tx.query(text, done))(),
  ],
  isCommit: (on, text) =>
    on.query(text).then(
      ({ command }) =>
        command === "COMMIT" || command === "SELECT" ? command === "COMMIT" : undefined,
      () => undefined,
    ),
  queryBuilder: (tx) => drizzlePostgres(tx),
  keep: (tx) =>
    Promise.resolve({
      tx,
      rejected: [() => tx.query("SELECT FROM nowhere")],
      thrown: [() => tx.release()],
      allowed: () => tx.off("notice", () => undefined),
    }),
};

/** How a handler can misuse its transaction on `engine`. */
export function misuseOf({ name }: SqlEngine): Misuse<Sql> {
  return name === "MySQL" ? mysqlMisuse : postgresMisuse;
}
