import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import { createEffects } from "../../support/stores/sql-engine.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };

describePostgres("a server with synchronous_commit off", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres({ synchronous_commit: "off", wal_writer_delay: "10s" });
    pool = server.pool();
    await postgresStore({ pool }).migrate();
  });
  afterAll(async () => {
    await server.close();
  });

  /** After it, only what was in the log on disk is there. */
  async function crash(): Promise<void> {
    await server.stop("crash");
    await server.start();
  }

  it("postgresTransactions: a processed delivery survives a crash, even if the handler turned synchronous_commit off", async () => {
    const effects = await createEffects(postgresEngine, pool);
    await pool.query("CHECKPOINT");
    const store = postgresTransactions({ pool });
    const keys = ["as it is", "turned off"];
    for (const key of keys) {
      const work = async (tx: pg.PoolClient): Promise<void> => {
        if (key === "turned off") await tx.query("SET LOCAL synchronous_commit TO off");
        await effects.write(tx, key);
      };
      expect(await store.process(key, work, TIMES)).toEqual({ state: "processed" });
    }
    await crash();
    for (const key of keys) {
      expect(await effects.of(key)).toBe(1);
      expect(await effects.remembered(key)).toBe(1);
    }
  });

  it("postgresStore: a completion survives a crash of a server with synchronous_commit off", async () => {
    const store = postgresStore({ pool });
    await pool.query("CHECKPOINT");
    await store.claim("completed", "a", TIMES);
    await store.complete("completed", "a", TIMES);
    await crash();
    expect(await store.claim("completed", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("a stricter synchronous_commit of the connection stays as it is", async () => {
    const strict = server.pool({ max: 1, options: "-c synchronous_commit=remote_apply" });
    await postgresStore({ pool: strict }).complete("strict", "a", { retentionMs: 1_000 });
    await postgresTransactions({ pool: strict }).process(
      "strict 2",
      () => Promise.resolve(),
      TIMES,
    );
    const { rows } = await strict.query("SHOW synchronous_commit");
    expect(rows).toEqual([{ synchronous_commit: "remote_apply" }]);
  });
});
