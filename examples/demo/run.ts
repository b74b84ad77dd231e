// npm run demo [-- folder-of-fixtures]
// A real server on this machine, and a gateway that delivers every fixture to it, and some trouble.
//
// npm run demo -- --monitor
// Failures that are planted and cured, and what receiver.health() says of them.
//
// npm run demo -- --store sqlite | --store redis --url redis://…
// A receiver that is killed in the middle, and started again on the same store.
import { FixtureError } from "identity-gateway-webhooks/testing";
import { readCommand, UsageError } from "./command-line.js";
import { StoreUnavailableError } from "./durable-store.js";
import { countDifferences, renderSummary, renderTable, type Result } from "./table.js";

/** Loads only what it shows. */
async function show(): Promise<Result> {
  const command = readCommand(process.argv.slice(2), process.env);
  switch (command.show) {
    case "monitor": {
      const { showMonitor } = await import("./show-monitor.js");
      return showMonitor();
    }
    case "fixtures": {
      const { showFixtures } = await import("./show-fixtures.js");
      return showFixtures(command.folder);
    }
    case "restart": {
      const { showRestart } = await import("./show-restart.js");
      return showRestart(command.store, command.url);
    }
  }
}

const result = await show().catch((error: unknown) => {
  const isForTheUser =
    error instanceof FixtureError ||
    error instanceof UsageError ||
    error instanceof StoreUnavailableError;
  if (!isForTheUser) throw error;
  console.error(error.message);
  process.exit(2);
});

console.log(`\n${result.headline}\n`);
console.log(renderTable(result));
if (result.remark !== undefined) console.log(`\n${result.remark}`);
console.log(`\n${renderSummary(result)}\n`);
process.exitCode = countDifferences(result) === 0 ? 0 : 1;
