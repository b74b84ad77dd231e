// npm run bench -- partner
// What a partner with 50 deliveries a second pays: the process, its start, and the compiler.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { deployFunction } from "../../test/support/lambda/lambda-function.js";
import { caption } from "./report/caption.js";
import { updateDocuments } from "./report/documents.js";
import { renderTable } from "./report/markdown.js";
import type { Table } from "./report/part-result.js";
import { median } from "./statistics.js";
import { underEvenLoad } from "./stores/paced-receiver.js";
import { STORES, type RowName } from "./stores/rows.js";

const LOAD = { perSecond: 50, connections: 8 };
const WARM_UP_SECONDS = 5;
const SECTIONS = 3;
const SECTION_SECONDS = 5;
const STARTS = 15;

const BENCH = fileURLToPath(new URL("..", import.meta.url));

async function loadRow(row: RowName, name: "ours" | "by hand", label: string): Promise<string[]> {
  const sections = await underEvenLoad(row, name, LOAD, async (section) => {
    await section(WARM_UP_SECONDS);
    const measured = [];
    for (let count = 0; count < SECTIONS; count++) measured.push(await section(SECTION_SECONDS));
    return measured;
  });
  const cell = (of: (section: (typeof sections)[number]) => number, digits: number): string =>
    median(sections.map(of)).toFixed(digits);
  process.stderr.write(`${label}: measured\n`);
  return [
    label,
    cell(({ cpuUs, seconds }) => cpuUs / seconds / 1e4, 1),
    cell(({ p50Ms }) => p50Ms, 1),
    cell(({ p99Ms }) => p99Ms, 1),
    cell(({ rssMb }) => rssMb, 0),
  ];
}

async function loadTable(): Promise<Table> {
  const rows = [await loadRow("memoryStore", "by hand", "an empty handler")];
  for (const row of STORES) rows.push(await loadRow(row, "ours", row));
  return {
    title: "50 deliveries a second",
    columns: ["", "CPU of one core, %", "answer p50, ms", "answer p99, ms", "RSS, MB"],
    rows,
  };
}

/** Milliseconds from the start of a process that runs this code until it ends, less those of an empty one. */
function startMs(code: string): number {
  const timed = (text: string): number => {
    const start = performance.now();
    execFileSync(process.execPath, ["--input-type=module", "-e", text], { cwd: BENCH });
    return performance.now() - start;
  };
  return median(Array.from({ length: STARTS }, () => timed(code) - timed("")));
}

const receiverOn = (adapter: string, exported: string): string =>
  `import { createWebhookReceiver } from "identity-gateway-webhooks";
import * as on from "identity-gateway-webhooks/${adapter}";
const receiver = createWebhookReceiver({ secret: "s".repeat(32), handlers: { new_alarm: async (alarm) => void alarm.id } });
${exported}
`;
const RECEIVER = receiverOn("fetch", "export default { fetch: on.fetchHandler(receiver) };");
const ON_LAMBDA = receiverOn("aws-lambda", "export const handler = on.lambdaHandler(receiver);");
const EMPTY = "export const handler = async () => ({ statusCode: 200 });";

/** Bytes of a file that esbuild makes of the code, minified and compressed. */
function bundleBytes(folder: string): number {
  const [source, bundle] = [join(folder, "bundled.mjs"), join(folder, "bundle.js")];
  writeFileSync(source, RECEIVER);
  const options =
    "--bundle --minify --format=esm --platform=browser --conditions=worker --external:node:* --log-level=error";
  const args = ["esbuild", source, ...options.split(" "), `--outfile=${bundle}`];
  execFileSync("npx", args, { cwd: BENCH });
  return brotliCompressSync(readFileSync(bundle)).length;
}

/** What `tsc` needs for a file: its types, and its seconds. */
function compilerCost(folder: string, text: string) {
  const file = join(folder, "compiled.mts");
  writeFileSync(file, text);
  const options =
    "--noEmit --ignoreConfig --strict --module nodenext --skipLibCheck --extendedDiagnostics";
  const args = ["tsc", ...options.split(" "), file];
  const { stdout } = spawnSync("npx", args, { cwd: BENCH, encoding: "utf8" });
  const figure = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(stdout)?.[1]);
  return { types: figure("Types"), seconds: figure("Total time") };
}

const EVENT = { requestContext: { http: { method: "POST" } }, headers: {}, body: "{}" };

/** Milliseconds from an event to the answer of a function that has no process yet. */
async function coldMs(folder: string, code: string): Promise<number> {
  const source = join(folder, "function.mjs");
  writeFileSync(source, code);
  const times = { timeoutMs: 30_000, instances: 1 };
  const deployed = await deployFunction({ source, environment: {}, ...times });
  const start = performance.now();
  await deployed.invoke(EVENT);
  const ms = performance.now() - start;
  await deployed.stop();
  return ms;
}

async function costsTable(): Promise<Table> {
  // In the package's own folder tree, so that it resolves the installed build.
  const folder = mkdtempSync(join(BENCH, "partner-"));
  try {
    const empty = compilerCost(folder, "export {};\n");
    const typed = compilerCost(folder, RECEIVER);
    const ms = startMs('import "identity-gateway-webhooks"');
    const cold = [];
    while (cold.length < STARTS)
      cold.push((await coldMs(folder, ON_LAMBDA)) - (await coldMs(folder, EMPTY)));
    const kB = (bundleBytes(folder) / 1_000).toFixed(1);
    return {
      title: "Once",
      columns: ["", ""],
      rows: [
        ["`import` of the package, beside a process without it", `${ms.toFixed(0)} ms more`],
        [
          "a cold start on Lambda's runtime interface, bundled, beside an empty function",
          `${median(cold).toFixed(0)} ms more`,
        ],
        ["a bundle with the receiver and the Fetch adapter, minified, brotli", `${kB} kB`],
        [
          "`tsc` for a file with a receiver, beside an empty file",
          `${(typed.seconds - empty.seconds).toFixed(2)} s and ${typed.types - empty.types} types more`,
        ],
      ],
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tables = [await loadTable(), await costsTable()];
const text = `${caption("partner")}\n\n${tables.map(renderTable).join("\n")}`;
process.stdout.write(text);
writeFileSync(new URL("../results/partner.md", import.meta.url), text);
updateDocuments();
// The pools of the stores are still open.
process.exit();
