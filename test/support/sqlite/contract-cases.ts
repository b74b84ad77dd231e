import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import type { SqliteDriver } from "./drivers.js";
import { sqliteFolder } from "./folder.js";
import type { SqliteCase } from "./store-cases.js";

/** The contract of stores on a file with two connections, on the real clock. */
export function contractCases(driver: SqliteDriver): readonly SqliteCase[] {
  const cases = deliveryStoreContract(
    () => {
      const folder = sqliteFolder(driver);
      return {
        store: sqliteStore({ database: folder.open() }),
        otherClient: sqliteStore({ database: folder.open() }),
        close: folder.remove,
      };
    },
    { leaseMs: 600 },
  );
  // The cases that need days are not judged on the real clock.
  return cases
    .filter(({ id }) => !id.endsWith("-days"))
    .map(({ title, run }) => ({
      title,
      async run() {
        await run();
      },
    }));
}
