// Runs every case on the driver of the first argument, for a Node of another version than the runner's.
// Prints a line for each: { title, error? }.
import { sqliteContractCases } from "./sqlite-contract-cases.js";
import { sqliteDriver } from "./sqlite-drivers.js";
import { sqliteLentCases } from "./sqlite-lent-cases.js";
import { sqliteMishapCases } from "./sqlite-mishap-cases.js";
import { sqliteQueueCases } from "./sqlite-queue-cases.js";
import { sqliteRetentionCases } from "./sqlite-retention-cases.js";
import { sqliteStoreCases } from "./sqlite-store-cases.js";
import { sqliteTransactionCases } from "./sqlite-transaction-cases.js";
import { sqliteWaitingCases } from "./sqlite-waiting-cases.js";

const driver = await sqliteDriver(process.argv[2] ?? "");
const cases = [
  ...sqliteStoreCases(driver),
  ...sqliteTransactionCases(driver),
  ...sqliteLentCases(driver),
  ...sqliteMishapCases(driver),
  ...sqliteQueueCases(driver),
  ...sqliteWaitingCases(driver),
  ...sqliteRetentionCases(driver),
  ...sqliteContractCases(driver),
];
for (const { title, run } of cases) {
  const error = await run().then(
    () => undefined,
    (thrown: unknown) => (thrown instanceof Error ? thrown.stack : String(thrown)),
  );
  process.stdout.write(`${JSON.stringify({ title, error })}\n`);
}
