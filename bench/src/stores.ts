import { writeFile } from "node:fs/promises";
import { caption } from "./report/caption.js";
import { updateDocuments } from "./report/documents.js";
import { renderTable } from "./report/markdown.js";
import { versionOf } from "./runtimes.js";
import { rememberedTable } from "./stores/remembered-ids.js";
import { readLabOptions } from "./stores/lab-options.js";
import { costTable, shortTable, speedTable } from "./stores/lab-tables.js";
import { measureRow, type LevelResult } from "./stores/measure-row.js";
import { rowsNamed } from "./stores/rows.js";

const options = readLabOptions(process.argv.slice(2));
if (options.remembered) {
  process.stdout.write(
    renderTable(await rememberedTable(rowsNamed(options.only), options.package)),
  );
  // The pools of the stores are still open.
  process.exit();
}

const levels: LevelResult[] = [];
for (const row of rowsNamed(options.only)) {
  const start = performance.now();
  levels.push(...(await measureRow(row, options)));
  const seconds = ((performance.now() - start) / 1_000).toFixed(0);
  process.stderr.write(`${row}: measured in ${seconds} s\n`);
}

const effort = `${options.rounds} rounds of ${options.seconds} s; `;
const tables = [shortTable(levels), speedTable(levels), costTable(levels)].map(renderTable);
const text = `${caption("stores", versionOf(options.node), effort)}\n\n${tables.join("\n")}`;
process.stdout.write(text);
// A part of the rows, or another build, is not the result of this version.
if (process.argv.length === 2) {
  await writeFile(new URL("../results/stores.md", import.meta.url), text);
  updateDocuments();
}
