// npm run bench -- queues
// The inbox of each engine beside the engine's own client, in under two minutes.
import { writeFile } from "node:fs/promises";
import { caption } from "./report/caption.js";
import { updateDocuments } from "./report/documents.js";
import { renderTable } from "./report/markdown.js";
import { versionOf } from "./runtimes.js";
import { readLabOptions } from "./stores/lab-options.js";
import { shortTable } from "./stores/lab-tables.js";
import { measureRow, type LevelResult } from "./stores/measure-row.js";
import { QUEUES, rowsNamed } from "./stores/rows.js";

const own = process.argv.slice(2);
const options = readLabOptions(["--rounds", "3", "--seconds", "0.5", ...own]);
const levels: LevelResult[] = [];
for (const row of rowsNamed(options.only, QUEUES)) {
  levels.push(...(await measureRow(row, options, false)));
}
const table = shortTable(levels, "Inboxes over HTTP", "engine");
const text = `${caption("queues", versionOf(options.node))}\n\n${renderTable(table)}`;
process.stdout.write(text);
if (own.length === 0) {
  await writeFile(new URL("../results/queues.md", import.meta.url), text);
  updateDocuments();
}
// The clients of the engines are still open.
process.exit();
