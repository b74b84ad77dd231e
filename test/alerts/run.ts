// npm run alerts [-- --only wrong-secret …] [-- --only month]
// Simulates a month, then plants twelve silent failures in real apps, watched by a real Prometheus with the published
// rules. Writes docs/monitoring/proof.md after a full run; --only month its section on the month.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { hasRedisServer } from "../support/redis/redis-server.js";
import { complaintsOf, proofPage, proofTable } from "./live/proof-page.js";
import { runProof } from "./live/run-proof.js";
import { monthComplaints, monthSection } from "./month/month-table.js";
import { runMonth } from "./month/run-month.js";
import { missingPrometheus } from "./prometheus.js";
import { SHORTENED } from "./rules.js";
import { SILENT_FAILURES } from "./silent-failures.js";

const PAGE = fileURLToPath(new URL("../../docs/monitoring/proof.md", import.meta.url));

/** The section on the month, up to the next one. */
const MONTH = /## A month\n[^]*?\n(?=\n## )/;

const { values } = parseArgs({ options: { only: { type: "string", multiple: true } } });
const { only } = values;
const ids: readonly string[] = ["month", ...SILENT_FAILURES.map(({ id }) => id)];
const missing = missingPrometheus ?? (hasRedisServer ? undefined : "no redis-server on PATH");
const unknown = only?.find((id) => !ids.includes(id));
if (missing !== undefined) fail(missing);
if (unknown !== undefined) fail(`--only is one of:\n${ids.join("\n")}`);

const complaints: string[] = [];
if (only?.includes("month") ?? true) {
  say("simulating a month");
  const month = await runMonth();
  const section = monthSection(month);
  say(section);
  complaints.push(...monthComplaints(month));
  const page = readFileSync(PAGE, "utf8");
  if (complaints.length === 0) writeFileSync(PAGE, page.replace(MONTH, section));
  if (only?.every((id) => id === "month") === true) end("the month");
}

const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => ending.abort());
}

const results = await runProof({
  failures: SILENT_FAILURES.filter(({ id }) => only?.includes(id) ?? true),
  signal: ending.signal,
  onReady: (calmSeconds) => {
    say(`Prometheus watches both apps; ${String(calmSeconds)} calm seconds, then the failures`);
  },
  onResult: (result) => {
    say(
      proofTable({ failures: [result] })
        .split("\n")
        .at(-1) ?? "",
    );
  },
}).catch((error: unknown) => fail(`not finished: ${String(error)}`));

say(`\n${proofTable(results)}\n`);
complaints.push(...complaintsOf(results));
if (only === undefined && complaints.length === 0) {
  const [month = ""] = MONTH.exec(readFileSync(PAGE, "utf8")) ?? [];
  writeFileSync(PAGE, proofPage(results, SHORTENED, month));
}
end(`${results.seconds.toFixed(0)} s`);

function end(what: string): never {
  for (const complaint of complaints) say(complaint);
  say(`${complaints.length === 0 ? "PASSED" : "FAILED"}: ${what}`);
  process.exit(complaints.length === 0 ? 0 : 1);
}

function fail(message: string): never {
  say(message);
  process.exit(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
