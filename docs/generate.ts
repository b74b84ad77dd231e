// npm run generate: makes anew every file that is made from something else.
//   -- --check  changes nothing, prints the differences, and fails if there is one
//   -- FILE…    makes only these files
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { apiReports } from "../api/api-reports.js";
import { answersPage } from "./answers-page.js";
import { openApi } from "./contract.js";
import { ENTRY_TABLES, readmeWithEntries } from "./entry-tables.js";
import { listenPage } from "./listen-page.js";
import { monitoringPage } from "./monitoring-page.js";
import { optionsPage } from "./options-page.js";
import { performancePage } from "./performance-page.js";
import { proofPage } from "./proof-page.js";
import { putBetween } from "./put-between.js";
import { doctorPicture } from "./terminal/doctor-picture.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const inRepository = (file: string): string => path.join(REPOSITORY, file);
const read = (file: string): string => readFileSync(inRepository(file), "utf8");

const results = () => ({
  table: read("bench/results/table.md"),
  partner: read("bench/results/partner.md"),
  stores: read("bench/results/stores.md"),
  queues: read("bench/results/queues.md"),
});

/** What makes each file, from what stands there now: some have tables between text that is written by hand. */
const PAGES: Readonly<Record<string, (now: string) => string | Promise<string>>> = {
  "docs/answers.md": answersPage,
  "docs/monitoring.md": monitoringPage,
  "docs/options.md": (now) => optionsPage(now, read("src/options/options.ts")),
  "docs/proof.md": (now) =>
    proofPage(now, {
      faults: read("test/faults/results.md"),
      platforms: read("test/platforms/results.md"),
    }),
  // The server that `init` writes.
  "docs/deployment.md": (now) =>
    putBetween(now, "server", `\`\`\`ts\n${read("examples/node.ts").replace(/^.*\n/, "")}\`\`\``),
  "docs/performance.md": (now) => performancePage(now, results()),
  ...ENTRY_TABLES,
  "contract/openapi.json": openApi,
  // The name under which other agents look for the same page.
  "llms.txt": () => read("AGENTS.md"),
  "README.md": (now) => readmeWithEntries(now),
  "cli/page/page-html.ts": listenPage,
  "docs/doctor.svg": () => doctorPicture(inRepository("dist/cli.js")),
};

const args = process.argv.slice(2);
const named = args.filter((arg) => arg !== "--check");
const unknown = named.filter((file) => !(file in PAGES));
if (unknown.length > 0) throw new Error(`${unknown.join(", ")}: made by nothing here`);

const made = new Map<string, string>();
for (const [file, make] of Object.entries(PAGES)) {
  if (named.length === 0 || named.includes(file)) made.set(file, await make(read(file)));
}
/** Reports of entries that are gone. */
const left: string[] = [];
if (named.length === 0) {
  for (const [file, report] of apiReports()) made.set(file, report);
  const written = readdirSync(inRepository("api")).filter((file) => file.endsWith(".api.md"));
  left.push(...written.map((file) => `api/${file}`).filter((file) => !made.has(file)));
}

if (args.includes("--check")) {
  const different = [...made]
    .filter(([file, text]) => !isWritten(file, text))
    .map(([file]) => file);
  const wrong = [...different, ...left];
  if (wrong.length > 0) {
    process.stderr.write(`Out of date: ${wrong.join(", ")}. Run npm run generate, and commit.\n`);
    process.exitCode = 1;
  }
} else {
  for (const [file, text] of made) writeFileSync(inRepository(file), text);
  for (const file of left) rmSync(inRepository(file));
}

/** Whether the file has this text. If not, prints the difference. */
function isWritten(file: string, text: string): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), "igw-generated-"));
  const generated = path.join(folder, path.basename(file));
  writeFileSync(generated, text);
  const args = ["diff", "--no-index", "--exit-code", file, generated];
  const { status } = spawnSync("git", args, { stdio: "inherit", cwd: REPOSITORY });
  rmSync(folder, { recursive: true });
  return status === 0;
}
