import type pg from "pg";
import { expect, it } from "vitest";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { databaseOf } from "../../support/stores/sql-engine.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const CHECK = "client_connection_check_interval";

/** Makes a pool's server look like one before PostgreSQL 14, which does not have the setting. */
function beforePostgres14(pool: pg.Pool): pg.Pool {
  return pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((text: unknown, ...rest: unknown[]) =>
      query(
        typeof text === "string" ? text.replaceAll(CHECK, `no_${CHECK}`) : text,
        ...rest,
      )) as typeof client.query;
  });
}

describePostgres("the time limit of a call to a PostgreSQL store", () => {
  const db = databaseOf(postgresEngine);

  it("the time limit works on a server that cannot notice closed connections", async () => {
    const store = postgresStore({ pool: beforePostgres14(db.server.pool()) });
    expect(await store.claim("old", "a", TIMES)).toEqual(CLAIMED);
    await store.complete("old", "a", TIMES);
    const transactions = postgresTransactions({ pool: beforePostgres14(db.server.pool()) });
    const work = (tx: pg.PoolClient) => db.effects.write(tx, "old transaction");
    expect(await transactions.process("old transaction", work, TIMES)).toEqual({
      state: "processed",
    });
    expect(await db.effects.of("old transaction")).toBe(1);
  });
});
