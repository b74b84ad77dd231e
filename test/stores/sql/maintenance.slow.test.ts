import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import type { PurgeOptions } from "../../../src/stores/table-maintenance.js";
import { tableOf } from "../../support/stores/sql-tables.js";
import type { Sql, SqlServer } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const FRESH = { state: "claimed", takeover: false };
const COMPLETED = { state: "completed" };
const PROCESSED = { state: "processed" };
const nothing = () => Promise.resolve();

describeSql("the table of the stores", (engine) => {
  const definition = tableOf(engine);
  const advice = `name another table, or add what is missing (${definition.schemaName})`;
  const sqlFile = new URL(`../../../sql/${definition.file}`, import.meta.url);
  const makers = [
    { name: engine.store, make: engine.makeStore.bind(engine) },
    { name: engine.transactions, make: engine.makeTransactions.bind(engine) },
  ];
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
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.complete("k", "a", { retentionMs: 1 });
    await store.release("k", "a");
    await engine.sleep(pool, 0.05);
    expect(await store.purge()).toBe(1);
    const transactions = engine.makeTransactions(restricted);
    expect(await transactions.process("t", nothing, TIMES)).toEqual(PROCESSED);
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
      for (const { make } of makers) {
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
    for (const { name, make } of makers) {
      const table = `later_${name.toLowerCase()}`;
      await make(pool, { table }).migrate();
      await run(
        `ALTER TABLE ${table} ADD COLUMN attempts int, ADD COLUMN region varchar(9) NOT NULL DEFAULT 'eu'`,
        definition.relabel(table, layout(2)),
      );
      await make(pool, { table }).migrate();
      expect(await definition.layoutOf(pool, table)).toEqual([layout(2)]);
    }
    const store = engine.makeStore(pool, { table: `later_${engine.store.toLowerCase()}` });
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    expect(await store.renew("k", "a", { leaseMs: 1_000 })).toBe(true);
    await store.release("k", "a");
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual(COMPLETED);
    const table = `later_${engine.transactions.toLowerCase()}`;
    const transactions = engine.makeTransactions(pool, { table });
    expect(await transactions.process("k", nothing, TIMES)).toEqual(PROCESSED);
    expect(await transactions.process("k", nothing, TIMES)).toEqual(COMPLETED);
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
    const store = await storeOn("extended");
    expect(await store.claim("k", "a", TIMES)).toEqual(FRESH);
    await store.complete("k", "a", { retentionMs: 60_000 });
    expect(await store.claim("k", "b", TIMES)).toEqual(COMPLETED);
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

  it(`two ${engine.name} tables do not share their rows`, async () => {
    const [one, two] = [await storeOn("one"), await storeOn("two")];
    await one.complete("k", "a", { retentionMs: 60_000 });
    expect(await two.claim("k", "a", TIMES)).toEqual(FRESH);
  });

  it(`purge() of ${engine.store} deletes in batches only the rows whose retention has ended`, async () => {
    const store = await storeOn("purged");
    await store.complete("expired-100", "a", { retentionMs: 60_000 });
    await store.claim("running", "a", TIMES);
    await definition.expire(pool, "purged", 25);
    const batches: unknown[] = [];
    const watched = engine.watched(pool, (sql, values) => {
      if (sql.startsWith("DELETE")) batches.push(definition.batchOf(sql, values));
      return undefined;
    });
    expect(await engine.makeStore(watched, { table: "purged" }).purge({ batchRows: 10 })).toBe(25);
    expect(batches).toEqual(definition.batchesOf25);
    expect(await countOf("purged")).toBe(2);
    expect(await store.purge()).toBe(0);
  });

  it(`a row past its retention counts as absent in ${engine.name} before it is purged`, async () => {
    const store = await storeOn("stale");
    await definition.expire(pool, "stale", 3);
    expect(await store.claim("expired-1", "a", TIMES)).toEqual(FRESH);
    await store.complete("expired-2", "a", { retentionMs: 60_000 });
    const facts: unknown[] = [];
    const work = (_tx: unknown, given: unknown) => {
      facts.push(given);
      return Promise.resolve();
    };
    const transactions = engine.makeTransactions(pool, { table: "stale" });
    expect(await transactions.process("expired-3", work, TIMES)).toEqual(PROCESSED);
    expect(facts).toEqual([{ takeover: false }]);
    expect(await store.purge()).toBe(0);
    expect(await store.claim("expired-2", "a", TIMES)).toEqual(COMPLETED);
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

  it(`purge() of ${engine.store} refuses a batchRows out of its bounds and an unknown option`, async () => {
    const store = engine.makeStore(pool, { table: "many" });
    for (const batchRows of [0, -1, 1.5, 100_001, Number.NaN]) {
      await expect(store.purge({ batchRows })).rejects.toThrow("batchRows must be a whole number");
    }
    await expect(store.purge({ batch: 10 } as PurgeOptions)).rejects.toThrow(
      "batch is no option of purge: is it misspelt? There are batchRows",
    );
  });
});
