import type { Pool, PoolOptions } from "mysql2/promise";
import { afterAll, beforeAll, describe, it } from "vitest";
import { mysqlStore } from "../../../src/stores/mysql/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";

/** Real time: the server's clock decides. */
const LEASE_MS = 600;

const POOLS: Readonly<Record<string, { config: PoolOptions; session?: string }>> = {
  "with the options of mysql2": { config: {} },
  "that counts changed rows": { config: { flags: ["-FOUND_ROWS"] } },
  "with autocommit off": { config: {}, session: "SET autocommit = 0" },
};

describeMysql("the DeliveryStore contract", () => {
  let server: MysqlServer;

  beforeAll(async () => {
    server = await startMysql();
  });
  afterAll(async () => {
    await server.close();
  });

  describe.each(Object.entries(POOLS))(
    "the MySQL store keeps the contract on a pool %s",
    (name, { config, session }) => {
      let pools: [Pool, Pool];
      let tables = 0;

      beforeAll(() => {
        pools = [server.pool(config), server.pool(config)];
        for (const pool of pools) {
          if (session !== undefined) {
            pool.pool.on("connection", (connection) => void connection.query(session));
          }
        }
      });

      const makeStore = async () => {
        tables += 1;
        const table = `${name.replace(/\W/g, "_")}_${tables}`;
        const [store, otherClient] = pools.map((pool) => mysqlStore({ pool, table }));
        if (store === undefined) throw new Error("there is no pool");
        await store.migrate();
        return { store, otherClient, table };
      };
      /** A store whose rows can be moved into the past, in place of its clock into the future. */
      const makeMovable = async () => {
        const { table, ...made } = await makeStore();
        const move = `UPDATE ${table} SET expires_at = expires_at - ?, lease_until = lease_until - ?`;
        return {
          ...made,
          async advance(ms: number) {
            // On one connection, because autocommit may be off.
            const connection = await pools[0].getConnection();
            await connection.query(move, [ms, ms]);
            await connection.query("COMMIT");
            connection.release();
          },
        };
      };
      const needsDays = ({ id }: { id: string }) => id.endsWith("-days");
      const days = deliveryStoreContract(makeMovable, { leaseMs: LEASE_MS }).filter(needsDays);
      for (const { title, run } of days) it(title, run);
      const cases = deliveryStoreContract(makeStore, { leaseMs: LEASE_MS }).filter(
        (one) => !needsDays(one),
      );
      // This case keeps the processor busy for seconds, and the others would miss their deadlines.
      const isBusy = ({ id }: { id: string }) => id === "keys-many";
      for (const { title, run } of cases.filter((one) => !isBusy(one))) it.concurrent(title, run);
      if (name !== "with the options of mysql2") return;
      for (const { title, run } of cases.filter(isBusy)) it(title, run);
    },
  );
});
