import { readFileSync } from "node:fs";
import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import {
  postgresSchema,
  postgresStore,
  postgresTransactions,
  type PurgeOptions,
} from "../../../src/stores/postgres/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };

it("sql/postgres.sql is the SQL that migrate() runs", () => {
  const file = readFileSync(new URL("../../../sql/postgres.sql", import.meta.url), "utf8");
  expect(file).toBe(postgresSchema());
});

describePostgres("the table of the PostgreSQL stores", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool({ max: 30 });
  });
  afterAll(async () => {
    await server.close();
  });

  /** Inserts `count` rows past their retention. */
  async function expire(table: string, count: number): Promise<void> {
    await pool.query(
      `INSERT INTO ${table} (key, expires_at)
        SELECT 'expired-' || i, now() - interval '1 second' FROM generate_series(1, ${count}) AS i`,
    );
  }

  async function countOf(table: string): Promise<number> {
    const { rows } = await pool.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
    return Number(rows[0]?.count);
  }

  it("migrate() by many processes at once creates the table once and keeps its rows", async () => {
    const migrateAll = () =>
      Promise.all(
        Array.from({ length: 30 }, () => postgresStore({ pool, table: "many" }).migrate()),
      );
    await migrateAll();
    const store = postgresStore({ pool, table: "many" });
    await store.complete("k", "a", { retentionMs: 60_000 });
    await migrateAll();
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("the table can be created by sql/postgres.sql and used by a role that may only read and write it", async () => {
    await pool.query(readFileSync(new URL("../../../sql/postgres.sql", import.meta.url), "utf8"));
    await pool.query(
      `CREATE ROLE receiver LOGIN;
      GRANT SELECT, INSERT, UPDATE, DELETE ON gateway_deliveries TO receiver`,
    );
    const store = postgresStore({ pool: server.pool({ user: "receiver" }) });
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.complete("k", "a", { retentionMs: 1 });
    await store.release("k", "a");
    await pool.query("SELECT pg_sleep(0.05)");
    expect(await store.purge()).toBe(1);
  });

  it("migrate() needs the right to CREATE only if the table is missing", async () => {
    await postgresStore({ pool, table: "granted" }).migrate();
    await pool.query(
      `CREATE ROLE migrating LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON granted TO migrating;
      REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
    );
    const restricted = server.pool({ user: "migrating" });
    const store = postgresStore({ pool: restricted, table: "granted" });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    const missing = postgresStore({ pool: restricted, table: "not_granted" });
    await expect(missing.migrate()).rejects.toHaveProperty("code", "42501");
  });

  const OURS = `expires_at timestamptz NOT NULL, lease_until timestamptz,
    key text PRIMARY KEY, owner text, takeover boolean NOT NULL DEFAULT false`;

  const ADVICE = "name another table, or add what is missing (postgresSchema)";

  it.each([
    [
      "columns of something else",
      "TABLE",
      "(id int PRIMARY KEY, key text)",
      "lacks columns of the store: expires_at timestamptz, lease_until timestamptz, owner text, takeover boolean",
    ],
    [
      "a missing column",
      "TABLE",
      `(${OURS.replace("owner text,", "")})`,
      "lacks columns of the store: owner text",
    ],
    [
      "a column of another type",
      "TABLE",
      `(${OURS.replaceAll("timestamptz", "timestamp")})`,
      "lacks columns of the store: expires_at timestamptz, lease_until timestamptz",
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
      `(${OURS.replace("owner text", "owner text NOT NULL")})`,
      "has columns that the store does not fill, NOT NULL without a default: owner",
    ],
    [
      "a key that is not unique",
      "TABLE",
      `(${OURS.replace("PRIMARY KEY", "NOT NULL")})`,
      "has no unique index on key alone",
    ],
    [
      "a key of two columns",
      "TABLE",
      `(${OURS.replace(" PRIMARY KEY", "")}, UNIQUE (key, owner))`,
      "has no unique index on key alone",
    ],
    ["the definition of a view", "VIEW", "AS SELECT 'k' AS key", "is not a table"],
  ])("migrate() refuses a table with %s", async (what, kind, definition, problem) => {
    const table = what.replaceAll(" ", "_");
    await pool.query(`CREATE ${kind} ${table} ${definition}`);
    for (const make of [postgresStore, postgresTransactions]) {
      const migration = make({ pool, table }).migrate();
      await expect(migration).rejects.toThrow(ConfigurationError);
      await expect(migration).rejects.toThrow(`table "${table}" exists and ${problem}: ${ADVICE}`);
    }
  });

  /** The constraint by which a release tells the table's layout. */
  const layoutOf = async (table: string): Promise<unknown[]> => {
    const { rows } = await pool.query<{ conname: string }>(
      "SELECT conname FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'c'",
      [table],
    );
    return rows.map(({ conname }) => conname);
  };

  it("migrate() writes the number of the layout into the table", async () => {
    const store = postgresStore({ pool, table: "versioned" });
    await store.migrate();
    expect(await layoutOf("versioned")).toEqual(["identity_gateway_webhooks_layout_1"]);
    await store.migrate();
    await pool.query(postgresSchema("versioned"));
    expect(await layoutOf("versioned")).toEqual(["identity_gateway_webhooks_layout_1"]);
  });

  it("a release that was rolled back works on the table of a later layout", async () => {
    for (const make of [postgresStore, postgresTransactions]) {
      const table = `later_${make.name.toLowerCase()}`;
      await make({ pool, table }).migrate();
      await pool.query(
        `ALTER TABLE ${table} ADD COLUMN attempts int, ADD COLUMN region text NOT NULL DEFAULT 'eu';
        ALTER TABLE ${table}
          RENAME CONSTRAINT identity_gateway_webhooks_layout_1 TO identity_gateway_webhooks_layout_2`,
      );
      await make({ pool, table }).migrate();
      expect(await layoutOf(table)).toEqual(["identity_gateway_webhooks_layout_2"]);
    }
    const store = postgresStore({ pool, table: "later_postgresstore" });
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.release("k", "a");
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
    const transactions = postgresTransactions({ pool, table: "later_postgrestransactions" });
    const work = () => Promise.resolve();
    const times = { retentionMs: 60_000 };
    expect(await transactions.process("k", work, times)).toEqual({ state: "processed" });
    expect(await transactions.process("k", work, times)).toEqual({ state: "completed" });
  });

  it("a claim is released in a table whose takeover column may be NULL", async () => {
    const table = "nullable_takeover";
    const store = postgresStore({ pool, table });
    await store.migrate();
    await pool.query(
      `ALTER TABLE ${table} ALTER takeover DROP NOT NULL, ALTER takeover DROP DEFAULT`,
    );
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    await store.release("k", "a");
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "claimed", takeover: false });
  });

  it("migrate() names the layout of a table that lacks a column", async () => {
    const store = postgresStore({ pool, table: "incompatible" });
    await store.migrate();
    await pool.query(
      `ALTER TABLE incompatible DROP COLUMN takeover;
      ALTER TABLE incompatible
        RENAME CONSTRAINT identity_gateway_webhooks_layout_1 TO identity_gateway_webhooks_layout_7`,
    );
    await expect(store.migrate()).rejects.toThrow(
      `table "incompatible" exists and lacks columns of the store: takeover boolean (its layout is 7): ${ADVICE}`,
    );
  });

  it("the store works on a table that the application created with additional columns", async () => {
    await pool.query(
      `CREATE TABLE extended (id int GENERATED ALWAYS AS IDENTITY, ${OURS.replace(" PRIMARY KEY", "")},
        note text, made_at timestamptz NOT NULL DEFAULT now(), gone int);
      ALTER TABLE extended DROP COLUMN gone;
      CREATE UNIQUE INDEX ON extended (key) INCLUDE (note)`,
    );
    const store = postgresStore({ pool, table: "extended" });
    await store.migrate();
    expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("the table may be in a schema, and its name may be a reserved word or have capitals", async () => {
    await pool.query("CREATE SCHEMA webhooks");
    for (const table of ["webhooks.deliveries", "order", "Select", "webhooks.table"]) {
      const store = postgresStore({ pool, table });
      await store.migrate();
      await store.complete("k", "a", { retentionMs: 60_000 });
      expect(await store.claim("k", "a", TIMES)).toEqual({ state: "completed" });
    }
    expect(await countOf("webhooks.deliveries")).toBe(1);
    expect(await countOf('"Select"')).toBe(1);
  });

  it("two tables do not share their rows", async () => {
    const [one, two] = ["one", "two"].map((table) => postgresStore({ pool, table }));
    await Promise.all([one?.migrate(), two?.migrate()]);
    await one?.complete("k", "a", { retentionMs: 60_000 });
    expect(await two?.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
  });

  it("purge() deletes in batches only the rows whose retention has ended", async () => {
    const store = postgresStore({ pool, table: "purged" });
    await store.migrate();
    await store.complete("kept", "a", { retentionMs: 60_000 });
    await store.claim("running", "a", TIMES);
    await expire("purged", 25);
    const statements: unknown[] = [];
    const watched = {
      query: (text: string, values?: unknown[]) => {
        if (text.startsWith("DELETE")) statements.push(values);
        return pool.query(text, values);
      },
    };
    expect(await postgresStore({ pool: watched, table: "purged" }).purge({ batchRows: 10 })).toBe(
      25,
    );
    expect(statements).toEqual([[10], [10], [10]]);
    expect(await countOf("purged")).toBe(2);
    expect(await store.purge()).toBe(0);
  });

  it("a row past its retention counts as absent before it is purged", async () => {
    const store = postgresStore({ pool, table: "stale" });
    await store.migrate();
    await expire("stale", 2);
    expect(await store.claim("expired-1", "a", TIMES)).toEqual({
      state: "claimed",
      takeover: false,
    });
    await store.complete("expired-2", "a", { retentionMs: 60_000 });
    expect(await store.purge()).toBe(0);
    expect(await store.claim("expired-2", "a", TIMES)).toEqual({ state: "completed" });
  });

  it("two purges beside live traffic lose no claim and refuse none", async () => {
    const store = postgresStore({ pool, table: "busy" });
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
    expect(Math.min(...purged)).toBeGreaterThan(0);
    const distinct = new Set(handled);
    for (const key of distinct) {
      expect(await store.claim(key, "late", TIMES), key).toEqual({ state: "completed" });
    }
    expect(await countOf("busy")).toBe(distinct.size);
  });

  it("purge() skips a row that another transaction has locked", async () => {
    const store = postgresStore({ pool, table: "locked" });
    await store.migrate();
    await expire("locked", 3);
    const client = await pool.connect();
    await client.query("BEGIN; SELECT FROM locked WHERE key = 'expired-2' FOR UPDATE");
    expect(await store.purge()).toBe(2);
    await client.query("ROLLBACK");
    client.release();
    expect(await store.purge()).toBe(1);
  });

  it("purge() refuses a batchRows out of its bounds", async () => {
    const store = postgresStore({ pool, table: "many" });
    for (const batchRows of [0, -1, 1.5, 100_001, Number.NaN]) {
      await expect(store.purge({ batchRows })).rejects.toThrow("batchRows must be a whole number");
    }
  });

  it("purge() refuses an unknown option and names it", async () => {
    const store = postgresStore({ pool, table: "many" });
    await expect(store.purge({ batch: 10 } as PurgeOptions)).rejects.toThrow(
      "batch is no option of purge: is it misspelt? There are batchRows",
    );
  });
});
