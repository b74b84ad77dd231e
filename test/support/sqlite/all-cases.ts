import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { transactionalStoreContract } from "../../../kit/store-contract/transactional-store-contract.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { onRealClock, storeCases, storeContract, type StoreCase } from "../stores/store-cases.js";
import { callChecks } from "./call-cases.js";
import { rowsOf, type SqliteDriver, type SqliteHandle } from "./drivers.js";
import { sqliteFolder, withSqliteFolder } from "./folder.js";
import { openingChecks } from "./opening-cases.js";
import { storeChecks } from "./store-cases.js";
import { transactionChecks } from "./transaction-cases.js";

/** 10 000 keys are 25 000 writes, and each waits for the disk. */
export const SLOW_DISK_MS = 300_000;

/** Stores on two connections to a new file, and a third connection that moves its rows into the past. */
function makePlace(driver: SqliteDriver) {
  const folder = sqliteFolder(driver);
  const rows = folder.open();
  // What a driver makes of big integers or of rows as arrays is the same to the stores.
  const handles = [folder.open(), folder.open({ oddRows: true })] as const;
  return {
    rows,
    handles,
    advance(ms: number) {
      const moved = ["forget_at", "lease_ends_at"].map((column) => `${column} = ${column} - ${ms}`);
      rows.exec(`UPDATE gateway_deliveries SET ${moved.join()}`);
    },
    close: folder.remove,
  };
}

function makeStore(driver: SqliteDriver) {
  const place = makePlace(driver);
  // Ten thousand writes at once take a busy machine longer than the default.
  const [store, otherClient] = place.handles.map((database) =>
    sqliteStore({ database, waitTimeoutMs: 60_000 }),
  ) as [ReturnType<typeof sqliteStore>, ReturnType<typeof sqliteStore>];
  return { ...place, store, otherClient };
}

function makeTransactions(driver: SqliteDriver) {
  const place = makePlace(driver);
  const { rows, handles } = place;
  rows.exec("CREATE TABLE rows (text TEXT)");
  return {
    ...place,
    store: sqliteTransactions({ database: handles[0] }),
    otherClient: sqliteTransactions({ database: handles[1] }),
    write: (tx: SqliteHandle, text: string) => tx.prepare("INSERT INTO rows VALUES (?)").run(text),
    written: () => rowsOf(rows, "SELECT text FROM rows").map(([text]) => String(text)),
  };
}

/** Both contracts on a file with two connections, on a clock that is moved, and without waiting for the disk. */
export function quickContractCases(driver: SqliteDriver): readonly StoreCase[] {
  const quick = <Made extends { handles: readonly SqliteHandle[] }>(made: Made): Made => {
    for (const handle of made.handles) handle.exec("PRAGMA synchronous = OFF");
    return made;
  };
  return [
    ...deliveryStoreContract(() => quick(makeStore(driver))),
    ...transactionalStoreContract(() => quick(makeTransactions(driver))),
  ];
}

const CHECKS = {
  ...storeChecks,
  ...openingChecks,
  ...transactionChecks,
  ...callChecks,
};

/** Every case for a SQLite driver. Each runs on a new file, and the contracts on the real clock. */
export function allCases(driver: SqliteDriver): readonly StoreCase[] {
  const withTransactions = () => {
    const { handles, ...place } = makeStore(driver);
    const transactions = sqliteTransactions({ database: handles[0] });
    return { ...place, store: place.otherClient, transactions };
  };
  return [
    ...Object.entries(CHECKS).map(([title, check]) => ({
      title,
      run: () => withSqliteFolder(driver, (folder) => check(folder, driver)),
    })),
    ...storeCases(withTransactions, ["forgets", "transactions"]),
    ...storeContract(() => makeStore(driver), { leaseMs: 600, sequences: 500 }),
    ...onRealClock(transactionalStoreContract<SqliteHandle>, () => makeTransactions(driver)),
  ];
}
