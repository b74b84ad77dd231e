import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { mysqlSchema } from "../../../src/stores/mysql/index.js";
import { postgresSchema } from "../../../src/stores/postgres/index.js";
import type { Sql, SqlEngine, SqlServer } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { expectToProcess, expectToWork } from "../../support/stores/store-cases.js";

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
function tableOf(engine: SqlEngine): TableDefinition {
  return engine.name === "MySQL" ? mysqlTable(engine) : postgresTable(engine);
}

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const FRESH = { state: "claimed", takeover: false };
const COMPLETED = { state: "completed" };

describeSql("the table of the stores", (engine) => {
  const definition = tableOf(engine);
  const advice = `name another table, or add what is missing (${definition.schemaName})`;
  const sqlFile = new URL(`../../../sql/${definition.file}`, import.meta.url);
  const makers = [engine.makeStore.bind(engine), engine.makeTransactions.bind(engine)] as const;
  let server: SqlServer<Sql>;
  let pool: Sql;

  beforeAll(async () => {
    server = await engine.start();
    pool = server.pool({ max: 30 });
  });
  afterAll(() => server.close());

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

  it(`migrate() by many processes at once creates the ${engine.name} table once and keeps its rows`, async () => {
    const migrateAll = () => Promise.all(Array.from({ length: 30 }, () => storeOn("many")));
    await migrateAll();
    const store = engine.makeStore(pool, { table: "many" });
    await store.complete("k", "a", { retentionMs: 60_000 });
    await migrateAll();
    expect(await store.claim("k", "b", TIMES)).toEqual(COMPLETED);
  });

  it(`the table can be created by sql/${definition.file} and used by a user who may only read and write it`, async () => {
    await run(
      ...readFileSync(sqlFile, "utf8")
        .split(/;\n/)
        .filter((text) => text.trim() !== ""),
    );
    await definition.grant(pool, "receiver", "gateway_deliveries");
    const restricted = server.pool({ user: "receiver" });
    const store = engine.makeStore(restricted);
    await store.migrate();
    await expectToWork(store);
    await expectToProcess(engine.makeTransactions(restricted));
    await store.complete("short", "a", { retentionMs: 1 });
    await engine.sleep(pool, 0.05);
    expect(await store.purge()).toBe(1);
  });

  it(`migrate() needs the right to CREATE in ${engine.name} only if the table is missing`, async () => {
    await storeOn("granted");
    await definition.grant(pool, "migrating", "granted");
    const restricted = server.pool({ user: "migrating" });
    const store = engine.makeStore(restricted, { table: "granted" });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    const missing = engine.makeStore(restricted, { table: "not_granted" });
    await expect(missing.migrate()).rejects.toMatchObject(definition.notAllowed);
  });

  it.each(definition.refused)(
    `migrate() refuses a ${engine.name} table with $what`,
    async ({ what, kind = "TABLE", columns, before, problem }) => {
      const table = what.replaceAll(" ", "_");
      if (before !== undefined) await pool.query(before);
      await pool.query(`CREATE ${kind} ${table} ${columns}`);
      for (const make of makers) {
        const migration = make(pool, { table }).migrate();
        await expect(migration).rejects.toThrow(ConfigurationError);
        await expect(migration).rejects.toThrow(problem);
        const start = `table ${definition.quoted(table)} exists and cannot be used (`;
        await expect(migration).rejects.toThrow(start);
        await expect(migration).rejects.toThrow(`): ${advice}`);
      }
      if (kind === "TABLE") expect(await countOf(table)).toBe(0);
    },
  );

  const layout = (number: number) => `identity_gateway_webhooks_layout_${String(number)}`;

  it(`migrate() writes the number of the layout into the ${engine.name} table`, async () => {
    const store = await storeOn("versioned");
    expect(await definition.layoutOf(pool, "versioned")).toEqual([layout(1)]);
    await store.migrate();
    await run(definition.schema("versioned"));
    expect(await definition.layoutOf(pool, "versioned")).toEqual([layout(1)]);
  });

  it(`a release that was rolled back works on the ${engine.name} table of a later layout`, async () => {
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

  it(`a claim is released in a ${engine.name} table whose takeover column may be NULL`, async () => {
    const store = await storeOn("nullable_takeover");
    await run(`ALTER TABLE nullable_takeover ${definition.nullableTakeover}`);
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.release("k", "a");
    expect(await store.claim("k", "b", TIMES)).toEqual(FRESH);
  });

  it(`the store works on a ${engine.name} table that the application created with additional columns`, async () => {
    await run(...definition.extended);
    await expectToWork(await storeOn("extended"));
  });

  it(`the ${engine.name} table may be in another schema, and its name may be a reserved word`, async () => {
    await run("CREATE SCHEMA webhooks");
    for (const table of ["webhooks.deliveries", "order", "Select", "webhooks.table"]) {
      const store = await storeOn(table);
      await store.migrate();
      await store.complete("k", "a", { retentionMs: 60_000 });
      expect(await store.claim("k", "a", TIMES)).toEqual(COMPLETED);
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

  it(`two purges of ${engine.store} beside live traffic lose no claim and refuse none`, async () => {
    const store = await storeOn("busy");
    await definition.expire(pool, "busy", 20_000);
    let isPurging = true;
    const handled: string[] = [];
    const traffic = async (worker: number): Promise<void> => {
      for (let at = 1; isPurging || at < 200; at += 1) {
        // Every worker uses ids that are being purged.
        const key = `expired-${String((at * 7 + worker * 5_000) % 20_000)}`;
        const owner = `worker-${String(worker)}`;
        const claim = await store.claim(key, owner, TIMES);
        if (claim.state === "claimed") await store.complete(key, owner, { retentionMs: 60_000 });
        handled.push(key);
      }
    };
    const purge = async (): Promise<number> => store.purge({ batchRows: 100 });
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

  it(`purge() of ${engine.store} skips a row that another transaction has locked`, async () => {
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
