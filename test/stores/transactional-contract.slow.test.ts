import { beforeAll, describe, it } from "vitest";
import { transactionalStoreContract } from "../../kit/store-contract/transactional-store-contract.js";
import { databaseOf, type Sql } from "../support/stores/sql-engine.js";
import { describeSql } from "../support/stores/sql-engines.js";

/** Those of SQLite run with every driver: test/stores/sqlite. */
describeSql("the TransactionalStore contract", (engine) => {
  const isMysql = engine.name === "MySQL";
  const db = databaseOf(engine);
  const levels = isMysql ? ["REPEATABLE READ"] : ["read committed", "serializable"];

  describe.each(levels)("at isolation level %s", (isolation) => {
    let tables = 0;
    let pools: Sql[];
    beforeAll(() => {
      pools = [db.server.pool({ isolation }), db.server.pool({ isolation })];
    });

    const makeStore = async () => {
      tables += 1;
      const table = `${isolation.replace(" ", "_")}_${String(tables)}`;
      const [store, otherClient] = pools.map((pool) => engine.makeTransactions(pool, { table }));
      if (store === undefined || otherClient === undefined) throw new Error("there is no pool");
      await store.migrate();
      const text = isMysql ? "varchar(200) COLLATE utf8mb4_bin" : "text";
      await db.pool.query(`CREATE TABLE ${table}_rows (text ${text})`);
      return {
        store,
        otherClient,
        write: (tx: Sql, written: string) =>
          engine.rows(tx, `INSERT INTO ${table}_rows VALUES (?)`, [written]),
        async written() {
          const rows = await engine.rows(db.pool, `SELECT text FROM ${table}_rows`);
          return rows.map((row) => String(row["text"]));
        },
        async advance(ms: number) {
          const back = isMysql ? "- ?" : "- ? * interval '1 ms'";
          await engine.rows(db.pool, `UPDATE ${table} SET expires_at = expires_at ${back}`, [ms]);
        },
      };
    };

    // The cases that need days move the rows into the past, and the others wait.
    const needsDays = ({ id }: { id: string }) => id.endsWith("-days");
    const onRealClock = async () => ({ ...(await makeStore()), advance: undefined });
    const cases = [
      ...transactionalStoreContract(onRealClock).filter((one) => !needsDays(one)),
      ...transactionalStoreContract(makeStore).filter(needsDays),
    ];
    for (const { title, run } of cases) it(title, run);
  });
});
