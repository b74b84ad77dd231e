// npm run platforms -- peers [express,pg-boss]: the optional peers (peers/run-peers.ts)
// npm run platforms [-- --only lambda,fastify] [--fast] [--date 2026-11-22]
// The conformance suite on real platforms. Exits 1 where one does not pass. A whole run writes results.md.
import { writeFileSync } from "node:fs";
import { copyPackage, installPackages } from "./install.js";
import { platformPage, platformTable, unitTestTable } from "./page.js";
import { runPeers } from "./peers/run-peers.js";
import type { Platform, PlatformResult } from "./platform.js";
import { PLATFORMS } from "./rows.js";
import { runRow } from "./run-row.js";
import { PROJECTS, runProject, type ProjectResult } from "./projects.js";
import {
  isWhole,
  readSelection,
  runsInFull,
  selectPlatforms,
  selectProjects,
  unitTestNodes,
} from "./selection.js";
import { runInFull, runUnitTests, type UnitTestResult } from "./unit-tests.js";

/** More at a time would measure this machine against the time limits of the cases. */
const AT_A_TIME = 2;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function inTwos<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

/** Installs folders. The rows of one that cannot be installed do not start, and the others run. */
async function install(folders: readonly string[]): Promise<void> {
  await inTwos([...new Set(folders)], async (folder) => {
    say(`installing the packages of test/platforms/${folder}, unless they are there`);
    try {
      await installPackages(folder);
      const files: Record<string, string> = {};
      for (const row of [...PLATFORMS, ...PROJECTS]) {
        if (row.folder === folder) Object.assign(files, row.files);
      }
      copyPackage(folder, files);
    } catch (error) {
      say(`${folder} could not be installed: ${String(error)}`);
    }
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
if (process.argv[2] === "peers") {
  await runPeers(process.argv.slice(3));
  process.exit();
}
const selection = readSelection(process.argv.slice(2));
const platforms = selectPlatforms(PLATFORMS, selection);
const nodes = unitTestNodes(selection);
const projects = selectProjects(selection);
await install([
  ".",
  ...projects.map(({ folder }) => folder),
  ...(nodes.length > 0 ? ["node"] : []),
  ...platforms.flatMap(({ folder, needs = [] }) => [folder, ...needs]),
]);
const results = await runRows(platforms);
if (isWhole(selection)) {
  const page = new URL("results.md", import.meta.url);
  writeFileSync(page, platformPage(results, selection.date));
}
const built: ProjectResult[] = [];
for (const project of projects) {
  const result = await runProject(project);
  built.push(result);
  say(`${result.name}, ${result.version}: ${result.complaints.length === 0 ? "passed" : "failed"}`);
}
const unitTests: UnitTestResult[] = [];
for (const major of nodes) {
  say(`unit tests on Node ${major}`);
  unitTests.push(await runUnitTests(major));
}
if (runsInFull(selection)) {
  say("in full what npm run test:all runs in part");
  unitTests.push(await runInFull());
}
if (results.length > 0) say(`\n${platformTable(results)}`);
if (unitTests.length > 0) say(`\n${unitTestTable(unitTests)}`);
const complaints = [
  ...results.map((row) => ({ name: row.platform.name, found: row.complaints })),
  ...built.map(({ name, complaints }) => ({ name, found: complaints })),
  ...unitTests.map((tests) => ({ name: tests.name, found: tests.complaints })),
].flatMap(({ name, found }) => found.map((complaint) => `${name}: ${complaint}`));
if (complaints.length > 0) say(`\n${complaints.join("\n")}`);
process.exitCode =
  complaints.length === 0 && results.length + built.length + unitTests.length > 0 ? 0 : 1;
