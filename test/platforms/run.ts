// npm run platforms [-- NAME …]
// The conformance suite against the Node handler on real platforms; exits 1 where one does not pass.
import { receiverConformance, runConformance, TEST_SECRET } from "../../src/testing/index.js";
import { install } from "./install.js";
import { startLedgerServer } from "./ledger-server.js";
import { PLATFORMS, versionOf, type Platform } from "./platforms.js";
import { startPlatform } from "./start-platform.js";

/** What became of one platform. */
interface Row {
  readonly cells: readonly (string | number)[];
  readonly complaints: readonly string[];
}

async function judge(platform: Platform): Promise<Row> {
  const startedAt = performance.now();
  const { ledger, url: ledgerUrl, close } = await startLedgerServer();
  try {
    const server = await startPlatform(platform, ledgerUrl);
    try {
      const { handled, whileFailing, whileSlow } = ledger;
      const { url: target, output } = server;
      const { results, ...counts } = await runConformance(
        receiverConformance({ target, secret: TEST_SECRET, handled, whileFailing, whileSlow }),
      );
      const { name, complaint } = platform;
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      const { passed, failed, notJudged } = counts;
      const complaints = results
        .filter(({ result }) => result !== "passed")
        .map(({ id, result, reason = "" }) => `${name}: ${id} ${result} ${reason}`);
      if (complaint !== undefined && output().includes(complaint)) {
        complaints.push(`${name} wrote: ${complaint}`);
      }
      return { cells: [name, versionOf(platform), passed, failed, notJudged, seconds], complaints };
    } finally {
      await server.stop();
    }
  } finally {
    await close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

install();
const wanted = process.argv.slice(2);
const rows: Row[] = [];
for (const platform of PLATFORMS) {
  if (wanted.length === 0 || wanted.includes(platform.folder)) rows.push(await judge(platform));
}
say("| platform | version | passed | failed | not judged | seconds |");
say("|---|---|--:|--:|--:|--:|");
for (const { cells } of rows) say(`| ${cells.join(" | ")} |`);
const complaints = rows.flatMap((row) => row.complaints);
for (const complaint of complaints) say(complaint);
process.exitCode = complaints.length === 0 && rows.length > 0 ? 0 : 1;
