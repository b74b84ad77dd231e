import { renderTable } from "./markdown.js";
import type { PartResult } from "./part-result.js";
import { summaryTable } from "./summary.js";

/** Sends a result to the parent process, or prints it if there is none. */
export function deliver(result: PartResult): void {
  if (process.send !== undefined) {
    process.send(result);
    return;
  }
  const summary = summaryTable([{ label: `Node ${process.versions.node}`, parts: [result] }]);
  const tables = summary.rows.length > 0 ? [summary, ...result.tables] : result.tables;
  process.stdout.write(tables.map(renderTable).join("\n"));
}
