import { mkdir, writeFile } from "node:fs/promises";
import { runFresh } from "./fresh-process.js";
import { caption } from "./report/caption.js";
import { drawChart } from "./report/chart.js";
import { updateDocuments } from "./report/documents.js";
import { renderTable } from "./report/markdown.js";
import type { PartResult } from "./report/part-result.js";
import { barsOf, summaryTable, type RuntimeResult } from "./report/summary.js";
import { findRuntimes } from "./runtimes.js";

const PARTS = ["in-process", "http", "memory", "cold-start"];
const RESULTS = new URL("../results/", import.meta.url);
const runtimes = findRuntimes();
const results: RuntimeResult[] = [];
for (const { execPath, label } of runtimes) {
  const parts: PartResult[] = [];
  for (const part of PARTS) {
    process.stderr.write(`${label}: measuring ${part}\n`);
    const start = performance.now();
    const script = new URL(`./${part}.js`, import.meta.url);
    parts.push((await runFresh(script, { execPath })) as PartResult);
    const seconds = ((performance.now() - start) / 1_000).toFixed(0);
    process.stderr.write(`${label}: ${part} measured in ${seconds} s\n`);
  }
  results.push({ label, parts });
}

const versions = runtimes.map(({ version }) => version).join(" and ");
const described = caption("", versions);

const summary = `${described}\n\n${renderTable(summaryTable(results))}`;
const details = [
  `${described}\n`,
  ...results.flatMap(({ label, parts }) =>
    parts.flatMap(({ tables }) =>
      tables.map((table) => renderTable({ ...table, title: `${label}. ${table.title}` })),
    ),
  ),
].join("\n");

await mkdir(RESULTS, { recursive: true });
await writeFile(new URL("table.md", RESULTS), summary);
await writeFile(new URL("details.md", RESULTS), details);
await writeFile(
  new URL("../../docs/performance.svg", RESULTS),
  drawChart(barsOf(results), described),
);
updateDocuments();
process.stdout.write(`${summary}\n${details}`);
