// npm run platforms [-- --only lambda,fastify] [--fast] [--date 2026-11-22]
// The conformance suite on real platforms. Exits 1 where one does not pass. A whole run writes docs/platforms.md.
import { writeFileSync } from "node:fs";
import { copyPackage, installPackages } from "./install.js";
import { platformPage } from "./page.js";
import type { Platform, PlatformResult } from "./platform.js";
import { runRow } from "./run-row.js";
import {
  allPlatforms,
  isWhole,
  readSelection,
  selectPlatforms,
  unitTestNodes,
} from "./selection.js";
import { platformTable, unitTestTable } from "./table.js";
import { runUnitTests, type UnitTestResult } from "./unit-tests.js";

/** More at a time would measure this machine against the time limits of the cases. */
const AT_A_TIME = 2;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function inTwos<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

async function install(platforms: readonly Platform[]): Promise<void> {
  const folders = platforms.flatMap(({ folder, needs = [] }) => [folder, ...needs]);
  await inTwos([...new Set([".", "node", ...folders])], async (folder) => {
    await installPackages(folder);
    copyPackage(folder);
  });
}

/** Rows of one folder run one after another, since they share what is built in it. */
async function runRows(platforms: readonly Platform[]): Promise<readonly PlatformResult[]> {
  const results = new Map<Platform, PlatformResult>();
  const folders = [...new Set(platforms.map(({ folder }) => folder))];
  await inTwos(folders, async (folder) => {
    for (const row of platforms.filter((platform) => platform.folder === folder)) {
      const result = await runRow(row);
      results.set(row, result);
      const { version, passed, failed, notJudged, seconds } = result;
      say(`${row.name} ${version}: ${passed}/${failed}/${notJudged} (${seconds} s)`);
    }
  });
  return platforms.flatMap((platform) => results.get(platform) ?? []);
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const selection = readSelection(process.argv.slice(2));
const platforms = selectPlatforms(await allPlatforms(), selection);
await install(platforms);
const results = await runRows(platforms);
const unitTests: UnitTestResult[] = [];
for (const major of unitTestNodes(selection)) {
  say(`unit tests on Node ${major}`);
  unitTests.push(await runUnitTests(major));
}
if (results.length > 0) say(`\n${platformTable(results)}`);
if (unitTests.length > 0) say(`\n${unitTestTable(unitTests)}`);
if (isWhole(selection)) {
  const page = new URL("../../docs/platforms.md", import.meta.url);
  writeFileSync(page, platformPage(results, unitTests, selection.date));
}
const complaints = [
  ...results.map((row) => ({ name: row.platform.name, found: row.complaints })),
  ...unitTests.map((tests) => ({ name: `Node ${tests.version}`, found: tests.complaints })),
].flatMap(({ name, found }) => found.map((complaint) => `${name}: ${complaint}`));
say(`\n${complaints.join("\n")}`);
process.exitCode = complaints.length === 0 && results.length + unitTests.length > 0 ? 0 : 1;
