import { beforeAll, describe, it } from "vitest";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { transactionalStoreContract } from "../../../kit/store-contract/transactional-store-contract.js";
import { databaseOf, type PoolSettings, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql, openSqlPlace } from "../../support/stores/sql-engines.js";
import { onRealClock } from "../../support/stores/store-cases.js";
import { testStoreContract } from "../../support/stores/test-store.js";

/** Pools on which the store keeps the contract, and those on which its transactions do. */
interface Kind {
  readonly pool: string;
  readonly settings: PoolSettings;
  readonly prepare?: boolean;
  readonly isShort?: boolean;
}

const OWN_KINDS: Readonly<Record<"MySQL" | "PostgreSQL", readonly Kind[]>> = {
  MySQL: [
    { pool: "with the options of mysql2", settings: {} },
    {
      pool: "that counts changed rows",
      settings: { driver: { flags: ["-FOUND_ROWS"] } },
      isShort: true,
    },
    { pool: "with autocommit off", settings: { session: "SET autocommit = 0" }, isShort: true },
  ],
  PostgreSQL: [
    { pool: "at read committed", settings: { isolation: "read committed" }, prepare: false },
    { pool: "with prepare", settings: { isolation: "read committed" }, prepare: true },
    { pool: "at serializable", settings: { isolation: "serializable" }, prepare: false },
  ],
};

const RACES = ["claim-atomic", "takeover-atomic", "complete-atomic", "release-atomic"];

describeSql("the contracts of stores", (engine) => {
  const db = databaseOf(engine);

  const poolsFor = (settings: PoolSettings): (() => [Sql, Sql]) => {
    let pools: [Sql, Sql];
    beforeAll(() => {
      pools = [db.server.pool({ max: 20, ...settings }), db.server.pool({ max: 20, ...settings })];
    });
    return () => pools;
  };

  describe.each(OWN_KINDS[engine.name])(
    `the ${engine.name} store keeps the contract on a pool $pool`,
    ({ settings, prepare, isShort = false }) => {
      const pools = poolsFor(settings);
      const makePlace = () => openSqlPlace(engine, pools(), db.pool, prepare);
      const abilities = ["forgets", "purge", "transactions"] as const;
      // Real time: the server's clock decides.
      testStoreContract(makePlace, { abilities, isShort, leaseMs: 600, sequences: 200 });
    },
  );

  describe.each<PoolSettings>([
    ...engine.isolations.map((isolation) => ({ isolation })),
    ...engine.oddSessions.map((session) => ({ session })),
  ])("races for the store on a pool with %j", (settings) => {
    const pools = poolsFor(settings);
    const contract = deliveryStoreContract(() => openSqlPlace(engine, pools(), db.pool));
    it.each(contract.filter(({ id }) => RACES.includes(id)))("$title", async ({ run }) => {
      await run();
    });
  });

  const levels = engine.name === "MySQL" ? ["REPEATABLE READ"] : ["read committed", "serializable"];
  describe.each(levels)("transactions at isolation level %s", (isolation) => {
    const pools = poolsFor({ isolation });
    const makePlace = async () => {
      const place = await openSqlPlace(engine, pools(), db.pool);
      const rows = `${place.table}_rows`;
      const text = engine.name === "MySQL" ? "varchar(200) COLLATE utf8mb4_bin" : "text";
      await db.pool.query(`CREATE TABLE ${rows} (text ${text})`);
      return {
        store: place.transactions,
        otherClient: place.otherTransactions,
        advance: place.advance,
        write: (tx: Sql, written: string) =>
          engine.rows(tx, `INSERT INTO ${rows} VALUES (?)`, [written]),
        async written() {
          const found = await engine.rows(db.pool, `SELECT text FROM ${rows}`);
          return found.map((row) => String(row["text"]));
        },
      };
    };
    it.each(onRealClock(transactionalStoreContract<Sql>, makePlace))("$title", async ({ run }) => {
      await run();
    });
  });
});
