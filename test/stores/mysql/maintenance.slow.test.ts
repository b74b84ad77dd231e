import { readFileSync } from "node:fs";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import {
  mysqlSchema,
  mysqlStore,
  mysqlTransactions,
  type PurgeOptions,
} from "../../../src/stores/mysql/index.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { watchedPool } from "../../support/mysql/mysql-watched-pool.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const FRESH = { state: "claimed", takeover: false };
const SQL_FILE = new URL("../../../sql/mysql.sql", import.meta.url);

it("sql/mysql.sql is the SQL that migrate() runs", () => {
  expect(readFileSync(SQL_FILE, "utf8")).toBe(mysqlSchema());
});

describeMysql("the table of the MySQL stores", () => {
  let server: MysqlServer;
  let pool: Pool;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool({ connectionLimit: 30, multipleStatements: true });
  });
  afterAll(async () => {
    await server.close();
  });

  /** Inserts `count` rows past their retention. */
  async function expire(table: string, count: number): Promise<void> {
    await pool.query(
      `INSERT INTO ${table} (\`key\`, expires_at) SELECT CONCAT('expired-', seq), 1 FROM seq_1_to_${count}`,
    );
  }

  async function countOf(table: string): Promise<number> {
    const [rows] = await pool.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${table}`);
    return Number(rows[0]?.["count"]);
  }

  const sleep = (seconds: number) => pool.query(`DO SLEEP(${String(seconds)})`);

  it("migrate() by many processes at once creates the table once and keeps its rows", async () => {
    const migrateAll = () =>
      Promise.all(Array.from({ length: 30 }, () => mysqlStore({ pool, table: "many" }).migrate()));
    await migrateAll();
    const store = mysqlStore({ pool, table: "many" });
    await store.complete("k", "a", { retentionMs: 60_000 });
    await migrateAll();
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("the table can be created by sql/mysql.sql and used by a user who may only read and write it", async () => {
    await pool.query(readFileSync(SQL_FILE, "utf8"));
    await pool.query(
      `CREATE USER receiver;
      GRANT SELECT, INSERT, UPDATE, DELETE ON test.gateway_deliveries TO receiver`,
    );
    const restricted = server.pool({ user: "receiver" });
    const store = mysqlStore({ pool: restricted });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.complete("k", "a", { retentionMs: 1 });
    await store.release("k", "a");
    await sleep(0.05);
    expect(await store.purge()).toBe(1);
    const transactions = mysqlTransactions({ pool: restricted });
    const work = () => Promise.resolve();
    expect(await transactions.process("t", work, TIMES)).toEqual({ state: "processed" });
  });

  it("migrate() needs the right to CREATE only if the table is missing", async () => {
    await mysqlStore({ pool, table: "granted" }).migrate();
    await pool.query(
      "CREATE USER migrating; GRANT SELECT, INSERT, UPDATE, DELETE ON test.granted TO migrating",
    );
    const restricted = server.pool({ user: "migrating" });
    const store = mysqlStore({ pool: restricted, table: "granted" });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    const missing = mysqlStore({ pool: restricted, table: "not_granted" });
    await expect(missing.migrate()).rejects.toHaveProperty("errno", 1142);
  });

  const OURS = `\`key\` varbinary(255) NOT NULL PRIMARY KEY, owner varbinary(255), lease_until bigint,
    expires_at bigint NOT NULL, takeover boolean NOT NULL DEFAULT false`;

  const ADVICE = "name another table, or add what is missing (mysqlSchema)";

  it.each([
    [
      "columns of something else",
      "TABLE",
      "(id int PRIMARY KEY, `key` text)",
      "lacks columns of the store: key varbinary(255), owner varbinary(255), lease_until bigint, expires_at bigint, takeover boolean",
    ],
    [
      "a missing column",
      "TABLE",
      `(${OURS.replace("owner varbinary(255),", "")})`,
      "lacks columns of the store: owner varbinary(255)",
    ],
    [
      "keys that fold case",
      "TABLE",
      `(${OURS.replace("varbinary", "varchar")})`,
      "lacks columns of the store: key varbinary(255)",
    ],
    [
      "keys that are too short",
      "TABLE",
      `(${OURS.replace("255", "36")})`,
      "lacks columns of the store: key varbinary(255)",
    ],
    [
      "times without a sign",
      "TABLE",
      `(${OURS.replaceAll("bigint", "bigint unsigned")})`,
      "lacks columns of the store: lease_until bigint, expires_at bigint",
    ],
    [
      "an extra column that must be filled",
      "TABLE",
      `(${OURS}, tenant int NOT NULL)`,
      "has columns that the store does not fill, NOT NULL without a default: tenant",
    ],
    [
      "an owner that must be filled",
      "TABLE",
      `(${OURS.replace("owner varbinary(255)", "owner varbinary(255) NOT NULL")})`,
      "has columns that the store does not fill, NOT NULL without a default: owner",
    ],
    [
      "a key that is not unique",
      "TABLE",
      `(${OURS.replace("PRIMARY KEY", "")})`,
      "has no unique index on key alone",
    ],
    [
      "a key of two columns",
      "TABLE",
      `(${OURS.replace(" PRIMARY KEY", "")}, UNIQUE (\`key\`, owner))`,
      "has no unique index on key alone",
    ],
    [
      "a key of which a part is unique",
      "TABLE",
      `(${OURS.replace(" PRIMARY KEY", "")}, UNIQUE (\`key\`(8)))`,
      "has no unique index on key alone",
    ],
    ["another engine", "TABLE", `(${OURS}) ENGINE = MyISAM`, "is not a table of InnoDB"],
    ["the definition of a view", "VIEW", "AS SELECT 'k' AS `key`", "is not a table"],
  ])("migrate() refuses a table with %s", async (what, kind, definition, problem) => {
    const table = what.replaceAll(" ", "_");
    await pool.query(`CREATE ${kind} ${table} ${definition}`);
    for (const make of [mysqlStore, mysqlTransactions]) {
      const migration = make({ pool, table }).migrate();
      await expect(migration).rejects.toThrow(ConfigurationError);
      await expect(migration).rejects.toThrow(
        `table \`${table}\` exists and ${problem}: ${ADVICE}`,
      );
    }
  });

  /** The comment by which a release tells the table's layout. */
  async function layoutOf(table: string): Promise<unknown> {
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT table_comment AS layout FROM information_schema.tables WHERE table_name = ?",
      [table],
    );
    return rows[0]?.["layout"];
  }

  it("migrate() writes the number of the layout into the table", async () => {
    const store = mysqlStore({ pool, table: "versioned" });
    await store.migrate();
    expect(await layoutOf("versioned")).toBe("identity_gateway_webhooks_layout_1");
    await store.migrate();
    await pool.query(mysqlSchema("versioned"));
    expect(await layoutOf("versioned")).toBe("identity_gateway_webhooks_layout_1");
  });

  it("a release that was rolled back works on the table of a later layout", async () => {
    for (const make of [mysqlStore, mysqlTransactions]) {
      const table = `later_${make.name.toLowerCase()}`;
      await make({ pool, table }).migrate();
      await pool.query(
        `ALTER TABLE ${table} ADD COLUMN attempts int, ADD COLUMN region varchar(9) NOT NULL DEFAULT 'eu',
          COMMENT = 'identity_gateway_webhooks_layout_2'`,
      );
      await make({ pool, table }).migrate();
      expect(await layoutOf(table)).toBe("identity_gateway_webhooks_layout_2");
    }
    const store = mysqlStore({ pool, table: "later_mysqlstore" });
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.release("k", "a");
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
    const transactions = mysqlTransactions({ pool, table: "later_mysqltransactions" });
    const work = () => Promise.resolve();
    expect(await transactions.process("k", work, TIMES)).toEqual({ state: "processed" });
    expect(await transactions.process("k", work, TIMES)).toEqual({ state: "completed" });
  });

  it("a claim is released in a table whose takeover column may be NULL", async () => {
    const table = "nullable_takeover";
    const store = mysqlStore({ pool, table });
    await store.migrate();
    await pool.query(`ALTER TABLE ${table} MODIFY takeover boolean`);
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.release("k", "a");
    expect(await store.claim("k", "b", TIMES)).toEqual(FRESH);
  });

  it("migrate() names the layout of a table that lacks a column", async () => {
    const store = mysqlStore({ pool, table: "incompatible" });
    await store.migrate();
    await pool.query(
      "ALTER TABLE incompatible DROP COLUMN takeover, COMMENT = 'identity_gateway_webhooks_layout_7'",
    );
    await expect(store.migrate()).rejects.toThrow(
      `table \`incompatible\` exists and lacks columns of the store: takeover boolean (its layout is 7): ${ADVICE}`,
    );
  });

  it("the store works on a table that the application created with additional columns", async () => {
    await pool.query(
      `CREATE TABLE extended (id int AUTO_INCREMENT PRIMARY KEY, ${OURS.replace("PRIMARY KEY", "UNIQUE")},
        note text, made_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
        doubled bigint AS (expires_at * 2) VIRTUAL)`,
    );
    const store = mysqlStore({ pool, table: "extended" });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("the table may be in another database, and its name may be a reserved word", async () => {
    await pool.query("CREATE DATABASE webhooks");
    for (const table of ["webhooks.deliveries", "order", "webhooks.table"]) {
      const store = mysqlStore({ pool, table });
      await store.migrate();
      await store.migrate();
      await store.complete("k", "a", { retentionMs: 60_000 });
      expect(await store.claim("k", "a", TIMES)).toEqual({ state: "completed" });
    }
    expect(await countOf("webhooks.deliveries")).toBe(1);
  });

  it("two tables do not share their rows", async () => {
    const [one, two] = ["one", "two"].map((table) => mysqlStore({ pool, table }));
    await Promise.all([one?.migrate(), two?.migrate()]);
    await one?.complete("k", "a", { retentionMs: 60_000 });
    expect(await two?.claim("k", "a", TIMES)).toEqual(FRESH);
  });

  it("purge() deletes in batches only the rows whose retention has ended", async () => {
    const store = mysqlStore({ pool, table: "purged" });
    await store.migrate();
    await store.complete("expired-100", "a", { retentionMs: 60_000 });
    await store.claim("running", "a", TIMES);
    await expire("purged", 25);
    const deletes: number[] = [];
    const watched = watchedPool(pool, (sql) => {
      if (sql.startsWith("DELETE")) deletes.push(sql.split("x'").length - 1);
      return undefined;
    });
    expect(await mysqlStore({ pool: watched, table: "purged" }).purge({ batchRows: 10 })).toBe(25);
    expect(deletes).toEqual([10, 10, 5]);
    expect(await countOf("purged")).toBe(2);
    expect(await store.purge()).toBe(0);
  });

  it("a row past its retention counts as absent before it is purged", async () => {
    const store = mysqlStore({ pool, table: "stale" });
    await store.migrate();
    await expire("stale", 3);
    expect(await store.claim("expired-1", "a", TIMES)).toEqual(FRESH);
    await store.complete("expired-2", "a", { retentionMs: 60_000 });
    const transactions = mysqlTransactions({ pool, table: "stale" });
    const facts: unknown[] = [];
    const work = (_tx: unknown, given: unknown) => {
      facts.push(given);
      return Promise.resolve();
    };
    expect(await transactions.process("expired-3", work, TIMES)).toEqual({ state: "processed" });
    expect(facts).toEqual([{ takeover: false }]);
    expect(await store.purge()).toBe(0);
    expect(await store.claim("expired-2", "a", TIMES)).toEqual({ state: "completed" });
  });

  it("two purges beside live traffic lose no claim and refuse none", async () => {
    const store = mysqlStore({ pool, table: "busy" });
    await store.migrate();
    await expire("busy", 20_000);
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
    expect(purged[0] + purged[1]).toBeGreaterThan(10_000);
    const distinct = new Set(handled);
    for (const key of distinct) {
      expect(await store.claim(key, "late", TIMES), key).toEqual({ state: "completed" });
    }
    await store.purge();
    expect(await countOf("busy")).toBe(distinct.size);
  });

  it("purge() skips a row that another transaction has locked", async () => {
    const store = mysqlStore({ pool, table: "locked" });
    await store.migrate();
    await expire("locked", 3);
    const stranger = await pool.getConnection();
    await stranger.query("BEGIN; SELECT 1 FROM locked WHERE `key` = 'expired-2' FOR UPDATE");
    expect(await store.purge()).toBe(2);
    await stranger.query("ROLLBACK");
    stranger.release();
    expect(await store.purge()).toBe(1);
  });

  it("purge() refuses a batchRows out of its bounds and an unknown option", async () => {
    const store = mysqlStore({ pool, table: "many" });
    for (const batchRows of [0, -1, 1.5, 100_001, Number.NaN]) {
      await expect(store.purge({ batchRows })).rejects.toThrow("batchRows must be a whole number");
    }
    await expect(store.purge({ batch: 10 } as PurgeOptions)).rejects.toThrow(
      "batch is no option of purge: is it misspelt? There are batchRows",
    );
  });
});
