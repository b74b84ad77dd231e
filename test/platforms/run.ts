// npm run platforms [-- --only lambda,fastify] [--fast] [--date 2026-11-22]
// The conformance suite on real platforms. Exits 1 where one does not pass. A whole run writes docs/platforms.md.
import { writeFileSync } from "node:fs";
import { copyPackage, installPackages } from "./install.js";
import { platformPage } from "./page.js";
import type { Platform, PlatformResult } from "./platform.js";
import { runRow } from "./run-row.js";
import { allPlatforms, isWhole, readSelection, selectPlatforms } from "./selection.js";
import { platformTable } from "./table.js";

/** More at a time would measure this machine against the time limits of the cases. */
const AT_A_TIME = 2;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function install(platforms: readonly Platform[]): Promise<void> {
  const folders = new Set([
    ".",
    ...platforms.flatMap(({ folder, needs = [] }) => [folder, ...needs]),
  ]);
  for (const folder of folders) {
    await installPackages(folder);
    copyPackage(folder);
  }
}

/** Rows of one folder run one after another, since they share what is built in it. */
async function runAll(platforms: readonly Platform[]): Promise<readonly PlatformResult[]> {
  const results = new Map<Platform, PlatformResult>();
  const folders = [...new Set(platforms.map(({ folder }) => folder))];
  const waiting = folders.map((folder) => platforms.filter((row) => row.folder === folder));
  const work = async (): Promise<void> => {
    for (let rows = waiting.shift(); rows !== undefined; rows = waiting.shift()) {
      for (const row of rows) {
        const result = await runRow(row);
        results.set(row, result);
        const { version, passed, failed, notJudged, seconds } = result;
        say(`${row.name} ${version}: ${passed}/${failed}/${notJudged} (${seconds} s)`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return platforms.flatMap((platform) => results.get(platform) ?? []);
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const selection = readSelection(process.argv.slice(2));
const platforms = selectPlatforms(await allPlatforms(), selection);
await install(platforms);
const results = await runAll(platforms);
say(`\n${platformTable(results)}\n`);
if (isWhole(selection)) {
  const page = new URL("../../docs/platforms.md", import.meta.url);
  writeFileSync(page, platformPage(results, selection.date));
}
const bad = results.filter(({ complaints }) => complaints.length > 0);
for (const { platform, complaints } of bad) {
  for (const complaint of complaints) say(`${platform.name}: ${complaint}`);
}
process.exitCode = bad.length === 0 && results.length > 0 ? 0 : 1;
