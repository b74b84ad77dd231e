import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import {
  createEffects,
  mustNotRun,
  type Effects,
} from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };

describePostgres("a client that other code released inside a transaction", () => {
  let server: PostgresServer;
  let effects: Effects;
  /** A pool of one client, which is inside a transaction. */
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    await postgresStore({ pool: server.pool() }).migrate();
    effects = await createEffects(server.pool());
  });
  beforeEach(async () => {
    pool = server.pool({ max: 1 });
    const client = await pool.connect();
    await client.query("BEGIN");
    await effects.write(client, "half");
    client.release();
  });
  afterAll(async () => {
    await server.close();
  });

  it("postgresTransactions runs no handler on an unfinished client and commits nothing of it", async () => {
    const store = postgresTransactions({ pool });
    const refused = store.process("t", mustNotRun, TIMES);
    await expect(refused).rejects.toThrow("handed out a client inside a transaction");
    const work = (tx: pg.PoolClient) => effects.write(tx, "t");
    expect(await store.process("t", work, TIMES)).toEqual({ state: "processed" });
    expect(await effects.of("t")).toBe(1);
    expect(await effects.of("half")).toBe(0);
  });

  it("postgresStore claims nothing on an unfinished client, and grants the next claim", async () => {
    const store = postgresStore({ pool });
    const refused = async () => store.claim("claimed", "a", TIMES);
    await expect(refused()).rejects.toThrow("handed out a client inside a transaction");
    expect(await effects.remembered("claimed")).toBe(0);
    expect(await store.claim("claimed", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect(await effects.remembered("claimed")).toBe(1);
    expect(await effects.of("half")).toBe(0);
  });

  it("postgresStore rejects a completion on an unfinished client", async () => {
    const store = postgresStore({ pool });
    const refused = async () => store.complete("completed", "a", TIMES);
    await expect(refused()).rejects.toThrow("handed out a client inside a transaction");
    await store.complete("completed", "a", TIMES);
    expect(await effects.remembered("completed")).toBe(1);
  });
});
