// npm run demo [-- folder-of-fixtures]
// A real server on this machine, and a gateway that delivers every fixture to it, and some trouble.
import { fixturesFolder, loadFixture, loadFixtures } from "./fixtures.js";
import { countDifferences, playScenario } from "./scenario.js";
import { startServer } from "./server.js";
import { renderSummary, renderTable } from "./table.js";

const fixtures = await loadFixtures(process.argv[2] ?? fixturesFolder);
const genuine = await loadFixture(fixturesFolder, "alarm-email-hacked.json");

const server = await startServer();
const startedAt = performance.now();
const result = await playScenario(fixtures, genuine, server);
const ms = performance.now() - startedAt;
await server.close();

console.log(`\nThe gateway delivers to ${server.url}\n`);
console.log(renderTable(result));
console.log(`\n${renderSummary(result, ms)}\n`);
process.exitCode = countDifferences(result) === 0 ? 0 : 1;
