// npm run demo [-- folder-of-fixtures]
// A real server on this machine, and a gateway that delivers every fixture to it, and some trouble.
import { fileURLToPath } from "node:url";
import { FixtureError, loadFixtures } from "identity-gateway-webhooks/testing";
import { sendEveryFixture } from "./every-fixture.js";
import { createLedger } from "./ledger.js";
import { deliverMoreThanOnce } from "./more-than-once.js";
import { deliverThroughOutages } from "./outages.js";
import { startServer } from "./server.js";
import { countDifferences, renderSummary, renderTable } from "./table.js";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../fixtures/", import.meta.url));
const fixtures = await loadFixtures(folder).catch((error: unknown) => {
  if (!(error instanceof FixtureError)) throw error;
  console.error(error.message);
  process.exit(2);
});

const ledger = createLedger();
const server = await startServer(ledger);
const startedAt = performance.now();
const sections = [
  ...(await sendEveryFixture(server.url, fixtures, ledger)),
  await deliverMoreThanOnce(server, ledger),
  ...(await deliverThroughOutages(ledger)),
];
const result = { sections, miscounts: ledger.miscounts(), ms: performance.now() - startedAt };
await server.close();

console.log(`\nThe gateway delivers to ${server.url}\n`);
console.log(renderTable(result));
console.log(`\n${renderSummary(result)}\n`);
process.exitCode = countDifferences(result) === 0 ? 0 : 1;
