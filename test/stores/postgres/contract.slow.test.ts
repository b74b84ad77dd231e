import { afterAll, beforeAll, describe, it } from "vitest";
import type pg from "pg";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";

/** Real time: the server's clock decides. */
const LEASE_MS = 600;

describePostgres("the DeliveryStore contract", () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server.close();
  });

  describe.each([
    { isolation: "read committed", prepare: false },
    { isolation: "read committed", prepare: true },
    { isolation: "serializable", prepare: false },
  ])(
    "the PostgreSQL store keeps the contract at isolation level $isolation, with prepare: $prepare",
    ({ isolation, prepare }) => {
      let pools: [pg.Pool, pg.Pool];
      let tables = 0;

      beforeAll(() => {
        const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
        pools = [server.pool({ options }), server.pool({ options })];
      });

      const makeStore = async () => {
        tables += 1;
        const table = `${isolation.replace(" ", "_")}_${prepare}_${tables}`;
        const [store, otherClient] = pools.map((pool) => postgresStore({ pool, table, prepare }));
        if (store === undefined) throw new Error("there is no pool");
        await store.migrate();
        return { store, otherClient, table };
      };
      /** A store whose rows can be moved into the past, in place of its clock into the future. */
      const makeMovable = async () => {
        const { table, ...made } = await makeStore();
        const back = "- $1 * interval '1 ms'";
        const move = `UPDATE ${table} SET expires_at = expires_at ${back}, lease_until = lease_until ${back}`;
        const advance = async (ms: number) => {
          await pools[0].query(move, [ms]);
        };
        return { ...made, advance };
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
      for (const { title, run } of cases.filter(isBusy)) it(title, run);
    },
  );
});
