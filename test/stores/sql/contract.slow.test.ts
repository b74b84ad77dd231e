import { beforeAll, describe, it } from "vitest";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { databaseOf, type PoolSettings, type Sql } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";

/** Real time: the server's clock decides. */
const LEASE_MS = 600;

interface Kind {
  readonly pool: string;
  readonly settings: PoolSettings;
  readonly prepare?: boolean;
  /** Without the case that keeps the processor busy for seconds. */
  readonly isShort?: boolean;
}

const KINDS: Readonly<Record<"MySQL" | "PostgreSQL", readonly Kind[]>> = {
  MySQL: [
    { pool: "with the options of mysql2", settings: {} },
    {
      pool: "that counts changed rows",
      settings: { driver: { flags: ["-FOUND_ROWS"] } },
      isShort: true,
    },
    {
      pool: "with autocommit off",
      settings: { session: "SET autocommit = 0" },
      isShort: true,
    },
  ],
  PostgreSQL: [
    { pool: "at read committed", settings: { isolation: "read committed" }, prepare: false },
    { pool: "with prepare", settings: { isolation: "read committed" }, prepare: true },
    { pool: "at serializable", settings: { isolation: "serializable" }, prepare: false },
  ],
};

describeSql("the DeliveryStore contract", (engine) => {
  const db = databaseOf(engine);

  describe.each(KINDS[engine.name])(
    `the ${engine.name} store keeps the contract on a pool $pool`,
    ({ pool: name, settings, prepare, isShort = false }) => {
      let pools: [Sql, Sql];
      let tables = 0;

      beforeAll(() => {
        pools = [db.server.pool(settings), db.server.pool(settings)];
      });

      const makeStore = async () => {
        tables += 1;
        const table = `${name.replace(/\W/g, "_")}_${tables}`;
        const options = prepare === undefined ? { table } : { table, prepare };
        const [store, otherClient] = pools.map((pool) => engine.makeStore(pool, options));
        if (store === undefined) throw new Error("there is no pool");
        await store.migrate();
        return { store, otherClient, table };
      };
      /** A store whose rows can be moved into the past, in place of its clock into the future. */
      const makeMovable = async () => {
        const { table, ...made } = await makeStore();
        const back = engine.name === "MySQL" ? "- ?" : "- ? * interval '1 ms'";
        const move = `UPDATE ${table} SET expires_at = expires_at ${back}, lease_until = lease_until ${back}`;
        return {
          ...made,
          async advance(ms: number) {
            // On one connection, because autocommit may be off.
            const connection = await engine.connect(pools[0]);
            await connection.query("BEGIN");
            await engine.rows(connection, move, [ms, ms]);
            await connection.query("COMMIT");
            connection.release();
          },
        };
      };
      const movesClock = ({ id }: { id: string }) => id.endsWith("-days") || id === "sequences";
      const options = { leaseMs: LEASE_MS, sequences: 500 };
      const moving = deliveryStoreContract(makeMovable, options).filter(movesClock);
      for (const { title, run } of moving) it(title, run);
      const cases = deliveryStoreContract(makeStore, options).filter((one) => !movesClock(one));
      // This case keeps the processor busy for seconds, and the others would miss their deadlines.
      const isBusy = ({ id }: { id: string }) => id === "keys-many";
      for (const { title, run } of cases.filter((one) => !isBusy(one))) it.concurrent(title, run);
      if (isShort) return;
      for (const { title, run } of cases.filter(isBusy)) it(title, run);
    },
  );
});
