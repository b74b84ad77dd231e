import { contractCases } from "./contract-cases.js";
import type { SqliteDriver } from "./drivers.js";
import { groupCases } from "./group-cases.js";
import { guardedHandleCases } from "./guarded-handle-cases.js";
import { misuseCases } from "./misuse-cases.js";
import { openingCases } from "./opening-cases.js";
import { queueCases } from "./queue-cases.js";
import { powerCutCases } from "./power-cut-cases.js";
import { randomCallsCases } from "./random-calls-cases.js";
import { retentionCases } from "./retention-cases.js";
import { storeCases, type SqliteCase } from "./store-cases.js";
import { transactionCases } from "./transaction-cases.js";
import { waitingCases } from "./waiting-cases.js";

/** Every case for a SQLite driver. Each runs on a new file. */
export function allCases(driver: SqliteDriver): readonly SqliteCase[] {
  const groups = [
    ...[storeCases, openingCases, transactionCases, guardedHandleCases, misuseCases],
    ...[
      queueCases,
      waitingCases,
      groupCases,
      retentionCases,
      powerCutCases,
      randomCallsCases,
      contractCases,
    ],
  ];
  return groups.flatMap((casesOf) => casesOf(driver));
}
