import { contractCases } from "./contract-cases.js";
import type { SqliteDriver } from "./drivers.js";
import { withSqliteFolder, type SqliteCase } from "./folder.js";
import { storeChecks } from "./store-cases.js";
import { openingChecks } from "./opening-cases.js";
import { transactionChecks } from "./transaction-cases.js";
import { guardedHandleChecks } from "./guarded-handle-cases.js";
import { misuseChecks } from "./misuse-cases.js";
import { queueChecks } from "./queue-cases.js";
import { waitingChecks } from "./waiting-cases.js";
import { groupChecks } from "./group-cases.js";
import { retentionChecks } from "./retention-cases.js";
import { fileChecks } from "./file-cases.js";
import { powerCutChecks } from "./power-cut-cases.js";
import { randomCallsChecks } from "./random-calls-cases.js";

const CHECKS = {
  ...storeChecks,
  ...openingChecks,
  ...transactionChecks,
  ...guardedHandleChecks,
  ...misuseChecks,
  ...queueChecks,
  ...waitingChecks,
  ...groupChecks,
  ...retentionChecks,
  ...powerCutChecks,
  ...randomCallsChecks,
  ...fileChecks,
};

/** Every case for a SQLite driver. Each runs on a new file. */
export function allCases(driver: SqliteDriver): readonly SqliteCase[] {
  const cases = Object.entries(CHECKS).map(([title, check]) => ({
    title,
    run: () => withSqliteFolder(driver, (folder) => check(folder, driver)),
  }));
  return [...cases, ...contractCases(driver)];
}
