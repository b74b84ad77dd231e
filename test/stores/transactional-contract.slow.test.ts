import { afterAll, beforeAll, describe, it } from "vitest";
import { mysqlTransactions } from "../../src/stores/mysql/index.js";
import { postgresTransactions } from "../../src/stores/postgres/index.js";
import type { TransactionalStoreUnderTest } from "../../kit/store-contract/contract-case.js";
import { transactionalStoreContract } from "../../kit/store-contract/transactional-store-contract.js";
import { describeMysql } from "../support/mysql/mysql-describe.js";
import { startMysql, type MysqlServer } from "../support/mysql/mysql-server.js";
import { describePostgres } from "../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../support/postgres/postgres-server.js";

/** Registers the cases. Those of SQLite run with every driver: test/stores/sqlite. The cases that need days move the rows into the past, and the others wait. */
function keepsContract<Tx>(
  makeStore: () => Promise<Required<Omit<TransactionalStoreUnderTest<Tx>, "close">>>,
): void {
  const needsDays = ({ id }: { id: string }) => id.endsWith("-days");
  const onRealClock = async () => ({ ...(await makeStore()), advance: undefined });
  const cases = [
    ...transactionalStoreContract(onRealClock).filter((one) => !needsDays(one)),
    ...transactionalStoreContract(makeStore).filter(needsDays),
  ];
  for (const { title, run } of cases) it(title, run);
}

describePostgres("the TransactionalStore contract on PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.close());

  describe.each(["read committed", "serializable"])("at isolation level %s", (isolation) => {
    let tables = 0;
    let pools: ReturnType<PostgresServer["pool"]>[];
    beforeAll(() => {
      const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
      pools = [server.pool({ options }), server.pool({ options })];
    });

    keepsContract(async () => {
      tables += 1;
      const table = `${isolation.replace(" ", "_")}_${String(tables)}`;
      const [store, otherClient] = pools.map((pool) => postgresTransactions({ pool, table }));
      const [pool] = pools;
      if (store === undefined || otherClient === undefined || pool === undefined) {
        throw new Error("there is no pool");
      }
      await store.migrate();
      await pool.query(`CREATE TABLE ${table}_rows (text text)`);
      return {
        store,
        otherClient,
        write: (tx, text) => tx.query(`INSERT INTO ${table}_rows VALUES ($1)`, [text]),
        async written() {
          const { rows } = await pool.query<{ text: string }>(`SELECT text FROM ${table}_rows`);
          return rows.map(({ text }) => text);
        },
        async advance(ms) {
          await pool.query(`UPDATE ${table} SET expires_at = expires_at - $1 * interval '1 ms'`, [
            ms,
          ]);
        },
      };
    });
  });
});

describeMysql("the TransactionalStore contract on MySQL", () => {
  let server: MysqlServer;
  let tables = 0;
  let pools: ReturnType<MysqlServer["pool"]>[];
  beforeAll(async () => {
    server = await startMysql();
    pools = [server.pool(), server.pool()];
  });
  afterAll(() => server.close());

  keepsContract(async () => {
    tables += 1;
    const table = `deliveries_${String(tables)}`;
    const [store, otherClient] = pools.map((pool) => mysqlTransactions({ pool, table }));
    const [pool] = pools;
    if (store === undefined || otherClient === undefined || pool === undefined) {
      throw new Error("there is no pool");
    }
    await store.migrate();
    await pool.query(`CREATE TABLE ${table}_rows (text varchar(200) COLLATE utf8mb4_bin)`);
    return {
      store,
      otherClient,
      write: (tx, text) => tx.query(`INSERT INTO ${table}_rows VALUES (?)`, [text]),
      async written() {
        const [rows] = await pool.query(`SELECT text FROM ${table}_rows`);
        return (rows as { text: string }[]).map(({ text }) => text);
      },
      async advance(ms) {
        await pool.query(`UPDATE ${table} SET expires_at = expires_at - ?`, [ms]);
      },
    };
  });
});
