// Runs every case on the driver of the first argument, for a Node of another version than the runner's.
// Prints a line for each: { title, error? }.
import { allCases } from "./all-cases.js";
import { sqliteDriver } from "./drivers.js";

const driver = await sqliteDriver(process.argv[2] ?? "");
for (const { title, run } of allCases(driver)) {
  const error = await run().then(
    () => undefined,
    (thrown: unknown) => (thrown instanceof Error ? thrown.stack : String(thrown)),
  );
  process.stdout.write(`${JSON.stringify({ title, error })}\n`);
}
