import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import type { SqliteDriver } from "./drivers.js";
import { sqliteFolder } from "./folder.js";
import type { SqliteCase } from "./store-cases.js";

/**
 * The contract of stores on a file with two connections, on the real clock. The cases that need days move
 * the rows into the past.
 */
export function contractCases(driver: SqliteDriver): readonly SqliteCase[] {
  const makeStore = () => {
    const folder = sqliteFolder(driver);
    return {
      store: sqliteStore({ database: folder.open() }),
      otherClient: sqliteStore({ database: folder.open() }),
      close: folder.remove,
      folder,
    };
  };
  const makeMovable = () => {
    const { folder, ...made } = makeStore();
    const rows = folder.open();
    return {
      ...made,
      advance(ms: number) {
        rows.exec(
          `UPDATE gateway_deliveries SET forget_at = forget_at - ${ms}, lease_ends_at = lease_ends_at - ${ms}`,
        );
      },
    };
  };
  const needsDays = ({ id }: { id: string }): boolean => id.endsWith("-days");
  const options = { leaseMs: 600 };
  const cases = [
    ...deliveryStoreContract(makeStore, options).filter((one) => !needsDays(one)),
    ...deliveryStoreContract(makeMovable, options).filter(needsDays),
  ];
  return cases.map(({ title, run }) => ({
    title,
    async run() {
      await run();
    },
  }));
}
