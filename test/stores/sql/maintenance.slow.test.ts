import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { mysqlSchema } from "../../../src/stores/mysql/index.js";
import { postgresSchema } from "../../../src/stores/postgres/index.js";
import type { Sql, SqlEngine } from "../../support/stores/sql-engine.js";
import { startedForAll } from "../../support/started-for-all.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import {
  COMPLETED,
  TIMES,
  expectToProcess,
  expectToWork,
  verbsOf,
} from "../../support/stores/store-cases.js";

/**
 * Tables that the stores cannot use: what each has, what the message says of it in the words of the database or of the
 * store, and its columns. A view has AS and its query.
 */
type RefusedTables = Readonly<Record<string, readonly [problem: RegExp, columns: string]>>;

/** The table of the stores in the words of one engine. */
interface TableDefinition {
  readonly file: string;
  readonly schemaName: string;
  readonly schema: (table?: string) => string;
  readonly quoted: (table: string) => string;
  readonly refused: RefusedTables;
  /** A statement that runs before these tables are made. */
  readonly before?: string;
  /** Statements that create the table `extended` with additional columns. */
  readonly extended: readonly string[];
  /** What follows ALTER TABLE. */
  readonly nullableTakeover: string;
  /** Gives a table of the first layout the name of another layout. */
  readonly relabel: (table: string, layout: string) => string;
  readonly layoutOf: (on: Sql, table: string) => Promise<readonly unknown[]>;
  /** Makes a user who may only read and write `table`. */
  readonly grant: (on: Sql, user: string, table: string) => Promise<void>;
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
): RefusedTables {
  const without = columns
    .replace("PRIMARY KEY", "NOT NULL")
    .replace("NOT NULL NOT NULL", "NOT NULL");
  const required = columns.replace(`owner ${text}`, `owner ${text} NOT NULL`);
  return {
    "a missing column": [/column \S*owner/i, `(${columns.replace(`owner ${text},`, "")})`],
    "an extra column that must be filled": [/tenant/, `(${columns}, tenant int NOT NULL)`],
    "an owner that must be filled": [/owner/, `(${required})`],
    "a key that is not unique": [/no unique/, `(${without})`],
    "a key of two columns": [/no unique/, `(${without}, UNIQUE (${key}, owner))`],
    "the definition of a view": [/column|not updatable|insert/i, `AS SELECT 'k' AS ${key}`],
  };
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
    refused: {
      ...refusedByBoth(MYSQL_COLUMNS, engine),
      "keys that fold case": [
        /fold letter case/,
        `(${MYSQL_COLUMNS.replace("varbinary", "varchar")})`,
      ],
      "keys that are too short": [
        /too long for column 'key'/,
        `(${MYSQL_COLUMNS.replace("255", "36")})`,
      ],
      "times without a sign": [
        /out of range/i,
        `(${MYSQL_COLUMNS.replaceAll("bigint", "bigint unsigned")})`,
      ],
      "a key of which a part is unique": [
        /only a part of a key is unique/,
        `(${MYSQL_COLUMNS.replace(" PRIMARY KEY", "")}, UNIQUE (\`key\`(8)))`,
      ],
      "another engine": [/needs InnoDB/, `(${MYSQL_COLUMNS}) ENGINE = MyISAM`],
    },
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
    before:
      "CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    refused: {
      ...refusedByBoth(POSTGRES_COLUMNS, engine),
      "keys that fold case": [
        /differ in letter case/,
        `(${POSTGRES_COLUMNS.replace("key text", "key text COLLATE folding")})`,
      ],
      "a column of another type": [
        /lease_until is not timestamp with time zone, expires_at is not/,
        `(${POSTGRES_COLUMNS.replaceAll("timestamptz", "timestamp")})`,
      ],
    },
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
function tableOf(engine: SqlEngine): TableDefinition {
  return engine.name === "MySQL" ? mysqlTable(engine) : postgresTable(engine);
}

describeSql("the table of the stores", (engine) => {
  const definition = tableOf(engine);
  const advice = `name another table, or add what is missing (${definition.schemaName})`;
  const sqlFile = new URL(`../../../sql/${definition.file}`, import.meta.url);
  const makers = [engine.makeStore.bind(engine), engine.makeTransactions.bind(engine)] as const;
  const server = startedForAll(() => engine.start());
  let pool: Sql;

  beforeAll(async () => {
    pool = server().pool({ max: 30 });
    if (definition.before !== undefined) await pool.query(definition.before);
  });

  /** Runs the statements of a text one by one. */
  async function run(...texts: readonly string[]): Promise<void> {
    for (const text of texts) await pool.query(text);
  }

  /** A store with a table of its own. */
  async function storeOn(table: string) {
    const store = engine.makeStore(pool, { table });
    await store.migrate();
    return store;
  }

  async function countOf(table: string): Promise<number> {
    return (await engine.rows(pool, `SELECT 1 FROM ${table}`)).length;
  }

  it(`sql/${definition.file} is the SQL that migrate() runs`, () => {
    expect(readFileSync(sqlFile, "utf8")).toBe(definition.schema());
  });

  it(`migrate() by many processes creates the ${engine.name} table once and keeps its rows`, async () => {
    const migrateAll = () => Promise.all(Array.from({ length: 30 }, () => storeOn("many")));
    await migrateAll();
    const store = engine.makeStore(pool, { table: "many" });
    await store.complete("k", "a", { retentionMs: 60_000 });
    await migrateAll();
    await verbsOf(store).completed("k", "b");
  });

  it(`a user who may only read and write uses the table of sql/${definition.file}`, async () => {
    await run(
      ...readFileSync(sqlFile, "utf8")
        .split(/;\n/)
        .filter((text) => text.trim() !== ""),
    );
    await definition.grant(pool, "receiver", "gateway_deliveries");
    const restricted = server().pool({ user: "receiver" });
    const store = engine.makeStore(restricted);
    await store.migrate();
    await expectToWork(store);
    await expectToProcess(engine.makeTransactions(restricted));
    await store.complete("short", "a", { retentionMs: 1 });
    await engine.sleep(pool, 0.05);
    expect(await store.purge()).toBe(1);
  });

  it.each(Object.entries(definition.refused))(
    `migrate() refuses a ${engine.name} table with %s`,
    async (what, [problem, columns]) => {
      const table = what.replaceAll(" ", "_");
      const isView = columns.startsWith("AS ");
      await pool.query(`CREATE ${isView ? "VIEW" : "TABLE"} ${table} ${columns}`);
      for (const make of makers) {
        const migration = make(pool, { table }).migrate();
        await expect(migration).rejects.toThrow(ConfigurationError);
        await expect(migration).rejects.toThrow(problem);
        const start = `table ${definition.quoted(table)} exists and cannot be used (`;
        await expect(migration).rejects.toThrow(start);
        await expect(migration).rejects.toThrow(`): ${advice}`);
      }
      if (!isView) expect(await countOf(table)).toBe(0);
    },
  );

  const layout = (number: number) => `identity_gateway_webhooks_layout_${String(number)}`;

  it(`migrate() writes the layout's number into the ${engine.name} table`, async () => {
    const store = await storeOn("versioned");
    expect(await definition.layoutOf(pool, "versioned")).toEqual([layout(1)]);
    await store.migrate();
    await run(definition.schema("versioned"));
    expect(await definition.layoutOf(pool, "versioned")).toEqual([layout(1)]);
  });

  it(`an older release works on the ${engine.name} table of a later layout`, async () => {
    const later = { later_leases: makers[0], later_transactions: makers[1] };
    for (const [table, make] of Object.entries(later)) {
      await make(pool, { table }).migrate();
      await run(
        `ALTER TABLE ${table} ADD COLUMN attempts int, ADD COLUMN region varchar(9) NOT NULL DEFAULT 'eu'`,
        definition.relabel(table, layout(2)),
      );
      await make(pool, { table }).migrate();
      expect(await definition.layoutOf(pool, table)).toEqual([layout(2)]);
    }
    await expectToWork(engine.makeStore(pool, { table: "later_leases" }));
    await expectToProcess(engine.makeTransactions(pool, { table: "later_transactions" }));
  });

  it(`a claim is released although takeover of ${engine.name} may be NULL`, async () => {
    const store = await storeOn("nullable_takeover");
    await run(`ALTER TABLE nullable_takeover ${definition.nullableTakeover}`);
    await verbsOf(store).claimed("k", "a");
    await store.release("k", "a");
    await verbsOf(store).claimed("k", "b");
  });

  it(`the store works on a ${engine.name} table with additional columns`, async () => {
    await run(...definition.extended);
    await expectToWork(await storeOn("extended"));
  });

  it(`the ${engine.name} table may be in another schema, or a reserved word`, async () => {
    await run("CREATE SCHEMA webhooks");
    for (const table of ["webhooks.deliveries", "order", "Select", "webhooks.table"]) {
      const store = await storeOn(table);
      await store.migrate();
      await store.complete("k", "a", { retentionMs: 60_000 });
      await verbsOf(store).completed("k", "a");
    }
    expect(await countOf("webhooks.deliveries")).toBe(1);
    expect(await countOf(definition.quoted("Select"))).toBe(1);
  });

  it(`purge() of ${engine.store} deletes in batches`, async () => {
    await storeOn("purged");
    await definition.expire(pool, "purged", 25);
    const batches: unknown[] = [];
    const watched = engine.watched(pool, (sql, values) => {
      if (sql.startsWith("DELETE")) batches.push(definition.batchOf(sql, values));
      return undefined;
    });
    expect(await engine.makeStore(watched, { table: "purged" }).purge({ batchRows: 10 })).toBe(25);
    expect(batches).toEqual(definition.batchesOf25);
  });

  it(`purges of ${engine.store} beside live traffic lose and refuse no claim`, async () => {
    const store = await storeOn("busy");
    await definition.expire(pool, "busy", 20_000);
    let isPurging = true;
    const handled: string[] = [];
    const traffic = async (worker: number) => {
      for (let at = 1; isPurging || at < 200; at += 1) {
        // Every worker uses ids that are being purged.
        const key = `expired-${String((at * 7 + worker * 5_000) % 20_000)}`;
        const owner = `worker-${String(worker)}`;
        const claim = await store.claim(key, owner, TIMES);
        if (claim.state === "claimed") await store.complete(key, owner, { retentionMs: 60_000 });
        handled.push(key);
      }
    };
    const purge = async () => store.purge({ batchRows: 100 });
    const workers = [1, 2, 3, 4].map(traffic);
    const purged = await Promise.all([purge(), purge()]);
    isPurging = false;
    await Promise.all(workers);
    // In MySQL one may find all rows locked by the other.
    expect(purged[0] + purged[1]).toBeGreaterThan(10_000);
    if (engine.name === "PostgreSQL") expect(Math.min(...purged)).toBeGreaterThan(0);
    const distinct = new Set(handled);
    for (const key of distinct) {
      expect(await store.claim(key, "late", TIMES), key).toEqual(COMPLETED);
    }
    // What a purge found locked.
    if (engine.name === "MySQL") await store.purge();
    expect(await countOf("busy")).toBe(distinct.size);
  });

  it(`purge() of ${engine.store} skips a locked row`, async () => {
    const store = await storeOn("locked");
    await definition.expire(pool, "locked", 3);
    const stranger = await engine.connect(pool);
    await stranger.query("BEGIN");
    await stranger.query(`SELECT 1 FROM locked WHERE ${engine.key} = 'expired-2' FOR UPDATE`);
    expect(await store.purge()).toBe(2);
    await stranger.query("ROLLBACK");
    stranger.release();
    expect(await store.purge()).toBe(1);
  });
});
