import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { transactionalStoreContract } from "../../../kit/store-contract/transactional-store-contract.js";
import { rowsOf, type SqliteDriver, type SqliteHandle } from "./drivers.js";
import { sqliteFolder, type SqliteCase, type SqliteFolder } from "./folder.js";

/** Moves the clock of the store for a case: the times in its rows go into the past. */
function movable(folder: SqliteFolder): (ms: number) => void {
  const rows = folder.open();
  return (ms) => {
    rows.exec(
      `UPDATE gateway_deliveries SET forget_at = forget_at - ${ms}, lease_ends_at = lease_ends_at - ${ms}`,
    );
  };
}

function makeStore(driver: SqliteDriver) {
  const folder = sqliteFolder(driver);
  const [database, otherDatabase] = [folder.open(), folder.open()];
  return {
    handles: [database, otherDatabase],
    // Ten thousand writes at once take a busy machine longer than the default.
    store: sqliteStore({ database, waitTimeoutMs: 60_000 }),
    otherClient: sqliteStore({ database: otherDatabase, waitTimeoutMs: 60_000 }),
    advance: movable(folder),
    close: folder.remove,
  };
}

function makeTransactions(driver: SqliteDriver) {
  const folder = sqliteFolder(driver);
  const [rows, database, otherDatabase] = [folder.open(), folder.open(), folder.open()];
  rows.exec("CREATE TABLE rows (text TEXT)");
  return {
    handles: [database, otherDatabase],
    store: sqliteTransactions({ database }),
    otherClient: sqliteTransactions({ database: otherDatabase }),
    write: (tx: SqliteHandle, text: string) => tx.prepare("INSERT INTO rows VALUES (?)").run(text),
    written: () => rowsOf(rows, "SELECT text FROM rows").map(([text]) => String(text)),
    advance: movable(folder),
    close: folder.remove,
  };
}

/** Both contracts on a file with two connections, on a clock that is moved, and without waiting for the disk. */
export function quickContractCases(driver: SqliteDriver): readonly SqliteCase[] {
  const quick = <Made extends { handles: readonly SqliteHandle[] }>(made: Made): Made => {
    for (const handle of made.handles) handle.exec("PRAGMA synchronous = OFF");
    return made;
  };
  return toCases([
    ...deliveryStoreContract(() => quick(makeStore(driver))),
    ...transactionalStoreContract(() => quick(makeTransactions(driver))),
  ]);
}

/** The same on the real clock. The cases that need days move the rows into the past. */
export function contractCases(driver: SqliteDriver): readonly SqliteCase[] {
  const needsDays = ({ id }: { id: string }): boolean => id.endsWith("-days");
  const waits = <Made extends object>(made: Made) => ({ ...made, advance: undefined });
  const options = { leaseMs: 600, sequences: 500 };
  return toCases([
    ...deliveryStoreContract(() => waits(makeStore(driver)), options).filter(
      (one) => !needsDays(one),
    ),
    ...deliveryStoreContract(() => makeStore(driver), options).filter(needsDays),
    ...transactionalStoreContract(() => waits(makeTransactions(driver))).filter(
      (one) => !needsDays(one),
    ),
    ...transactionalStoreContract(() => makeTransactions(driver)).filter(needsDays),
  ]);
}

function toCases(
  cases: readonly { readonly title: string; readonly run: () => Promise<unknown> }[],
): readonly SqliteCase[] {
  return cases.map(({ title, run }) => ({
    title,
    async run() {
      await run();
    },
  }));
}
