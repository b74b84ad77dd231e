import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { ContractCase } from "../../../src/testing/store-contract/contract-case.js";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import type { SqliteDriver } from "./drivers.js";
import { sqliteFolder } from "./folder.js";

/** The contract of stores on a file with two connections, on the real clock. */
export function contractCases(driver: SqliteDriver): readonly ContractCase[] {
  return deliveryStoreContract(
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
}
