import { mysqlSchema } from "../../../src/stores/mysql/index.js";
import { postgresSchema } from "../../../src/stores/postgres/index.js";
import type { Sql, SqlEngine } from "./sql-engine.js";

/** A table that the stores cannot use. */
interface RefusedTable {
  readonly what: string;
  readonly kind?: "VIEW";
  readonly columns: string;
  /** A statement that runs before the table is made. */
  readonly before?: string;
  /** What the message says of it, in the words of the database or of the store. */
  readonly problem: RegExp;
}

/** The table of the stores in the words of one engine. */
interface TableDefinition {
  readonly file: string;
  readonly schemaName: string;
  readonly schema: (table?: string) => string;
  readonly quoted: (table: string) => string;
  readonly refused: readonly RefusedTable[];
  /** Statements that create the table `extended` with additional columns. */
  readonly extended: readonly string[];
  /** What follows ALTER TABLE. */
  readonly nullableTakeover: string;
  /** Gives a table of the first layout the name of another layout. */
  readonly relabel: (table: string, layout: string) => string;
  readonly layoutOf: (on: Sql, table: string) => Promise<readonly unknown[]>;
  /** Makes a user who may only read and write `table`. */
  readonly grant: (on: Sql, user: string, table: string) => Promise<void>;
  /** Properties of the error of a user who may not CREATE. */
  readonly notAllowed: object;
  /** Inserts `count` rows past their retention. */
  readonly expire: (on: Sql, table: string, count: number) => Promise<unknown>;
  /** What a DELETE says of its batch, and what that is for 25 rows in batches of ten. */
  readonly batchOf: (sql: string, values: unknown) => unknown;
  readonly batchesOf25: readonly unknown[];
}

const RIGHTS = "SELECT, INSERT, UPDATE, DELETE";

/** What both engines refuse. `columns` are those of the store, with the type `text` of a key. */
function refusedByBoth(
  columns: string,
  { key, text }: Pick<SqlEngine, "key" | "text">,
): readonly RefusedTable[] {
  const without = columns
    .replace("PRIMARY KEY", "NOT NULL")
    .replace("NOT NULL NOT NULL", "NOT NULL");
  return [
    {
      what: "a missing column",
      columns: `(${columns.replace(`owner ${text},`, "")})`,
      problem: /column \S*owner/i,
    },
    {
      what: "an extra column that must be filled",
      columns: `(${columns}, tenant int NOT NULL)`,
      problem: /tenant/,
    },
    {
      what: "an owner that must be filled",
      columns: `(${columns.replace(`owner ${text}`, `owner ${text} NOT NULL`)})`,
      problem: /owner/,
    },
    { what: "a key that is not unique", columns: `(${without})`, problem: /no unique/ },
    {
      what: "a key of two columns",
      columns: `(${without}, UNIQUE (${key}, owner))`,
      problem: /no unique/,
    },
    {
      what: "the definition of a view",
      kind: "VIEW",
      columns: `AS SELECT 'k' AS ${key}`,
      problem: /column|not updatable|insert/i,
    },
  ];
}

const MYSQL_COLUMNS = `\`key\` varbinary(255) NOT NULL PRIMARY KEY, owner varbinary(255), lease_until bigint,
  expires_at bigint NOT NULL, takeover boolean NOT NULL DEFAULT false`;
const POSTGRES_COLUMNS = `expires_at timestamptz NOT NULL, lease_until timestamptz,
  key text PRIMARY KEY, owner text, takeover boolean NOT NULL DEFAULT false`;

function mysqlTable(engine: SqlEngine): TableDefinition {
  return {
    file: "mysql.sql",
    schemaName: "mysqlSchema",
    schema: mysqlSchema,
    quoted: (table) => `\`${table}\``,
    refused: [
      ...refusedByBoth(MYSQL_COLUMNS, engine),
      {
        what: "columns of something else",
        columns: "(id int PRIMARY KEY, `key` text)",
        problem: /column/i,
      },
      {
        what: "keys that fold case",
        columns: `(${MYSQL_COLUMNS.replace("varbinary", "varchar")})`,
        problem: /fold letter case/,
      },
      {
        what: "keys that are too short",
        columns: `(${MYSQL_COLUMNS.replace("255", "36")})`,
        problem: /too long for column 'key'/,
      },
      {
        what: "times without a sign",
        columns: `(${MYSQL_COLUMNS.replaceAll("bigint", "bigint unsigned")})`,
        problem: /out of range/i,
      },
      {
        what: "a key of which a part is unique",
        columns: `(${MYSQL_COLUMNS.replace(" PRIMARY KEY", "")}, UNIQUE (\`key\`(8)))`,
        problem: /only a part of a key is unique/,
      },
      {
        what: "another engine",
        columns: `(${MYSQL_COLUMNS}) ENGINE = MyISAM`,
        problem: /needs InnoDB/,
      },
    ],
    extended: [
      `CREATE TABLE extended (id int AUTO_INCREMENT PRIMARY KEY, ${MYSQL_COLUMNS.replace("PRIMARY KEY", "UNIQUE")},
        note text, made_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
        doubled bigint AS (expires_at * 2) VIRTUAL)`,
    ],
    nullableTakeover: "MODIFY takeover boolean",
    relabel: (table, layout) => `ALTER TABLE ${table} COMMENT = '${layout}'`,
    async layoutOf(on, table) {
      const sql =
        "SELECT table_comment AS layout FROM information_schema.tables WHERE table_name = ?";
      return (await engine.rows(on, sql, [table])).map(({ layout }) => layout);
    },
    async grant(on, user, table) {
      await on.query(`CREATE USER ${user}`);
      await on.query(`GRANT ${RIGHTS} ON test.${table} TO ${user}`);
    },
    notAllowed: { errno: 1142 },
    expire: (on, table, count) =>
      on.query(
        `INSERT INTO ${table} (\`key\`, expires_at) SELECT CONCAT('expired-', seq), 1 FROM seq_1_to_${count}`,
      ),
    batchOf: (sql) => sql.split("x'").length - 1,
    batchesOf25: [10, 10, 5],
  };
}

function postgresTable(engine: SqlEngine): TableDefinition {
  return {
    file: "postgres.sql",
    schemaName: "postgresSchema",
    schema: postgresSchema,
    quoted: (table) => `"${table}"`,
    refused: [
      ...refusedByBoth(POSTGRES_COLUMNS, engine),
      {
        what: "columns of something else",
        columns: "(id int PRIMARY KEY, key text)",
        problem: /column/,
      },
      {
        what: "keys that fold case",
        before:
          "CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        columns: `(${POSTGRES_COLUMNS.replace("key text", "key text COLLATE folding")})`,
        problem: /differ in letter case/,
      },
      {
        what: "a column of another type",
        columns: `(${POSTGRES_COLUMNS.replaceAll("timestamptz", "timestamp")})`,
        problem: /lease_until is not timestamp with time zone, expires_at is not/,
      },
    ],
    extended: [
      `CREATE TABLE extended (id int GENERATED ALWAYS AS IDENTITY, ${POSTGRES_COLUMNS.replace(" PRIMARY KEY", "")},
        note text, made_at timestamptz NOT NULL DEFAULT now(), gone int)`,
      "ALTER TABLE extended DROP COLUMN gone",
      "CREATE UNIQUE INDEX ON extended (key) INCLUDE (note)",
    ],
    nullableTakeover: "ALTER takeover DROP NOT NULL, ALTER takeover DROP DEFAULT",
    relabel: (table, layout) =>
      `ALTER TABLE ${table} RENAME CONSTRAINT identity_gateway_webhooks_layout_1 TO ${layout}`,
    async layoutOf(on, table) {
      const sql =
        "SELECT conname AS layout FROM pg_constraint WHERE conrelid = ?::regclass AND contype = 'c'";
      return (await engine.rows(on, sql, [table])).map(({ layout }) => layout);
    },
    async grant(on, user, table) {
      await on.query(`CREATE ROLE ${user} LOGIN; GRANT ${RIGHTS} ON ${table} TO ${user};
        REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
    },
    notAllowed: { code: "42501" },
    expire: (on, table, count) =>
      on.query(
        `INSERT INTO ${table} (key, expires_at)
          SELECT 'expired-' || i, now() - interval '1 second' FROM generate_series(1, ${count}) AS i`,
      ),
    batchOf: (_sql, values) => values,
    batchesOf25: [[10], [10], [10]],
  };
}

/** The table of the stores of an engine. */
export function tableOf(engine: SqlEngine): TableDefinition {
  return engine.name === "MySQL" ? mysqlTable(engine) : postgresTable(engine);
}
