// npm run alerts [-- --only wrong-secret …]
// Plants twelve silent failures in real apps, watched by a real Prometheus with the published rules. Writes
// docs/monitoring/proof.md after a full run.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { hasRedisServer } from "../support/redis/redis-server.js";
import { complaintsOf, proofPage, proofTable } from "./live/proof-page.js";
import { runProof } from "./live/run-proof.js";
import { missingPrometheus } from "./prometheus.js";
import { SHORTENED } from "./rules.js";
import { SILENT_FAILURES } from "./silent-failures.js";

const PAGE = fileURLToPath(new URL("../../docs/monitoring/proof.md", import.meta.url));

const { values } = parseArgs({ options: { only: { type: "string", multiple: true } } });
const { only } = values;
const ids: readonly string[] = SILENT_FAILURES.map(({ id }) => id);
const missing = missingPrometheus ?? (hasRedisServer ? undefined : "no redis-server on PATH");
const unknown = only?.find((id) => !ids.includes(id));
if (missing !== undefined) fail(missing);
if (unknown !== undefined) fail(`--only is one of:\n${ids.join("\n")}`);

const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => {
    ending.abort();
  });
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
const complaints = complaintsOf(results);
for (const complaint of complaints) say(complaint);
if (only === undefined && complaints.length === 0)
  writeFileSync(PAGE, proofPage(results, SHORTENED));
say(`${complaints.length === 0 ? "PASSED" : "FAILED"}, in ${results.seconds.toFixed(0)} s`);
process.exit(complaints.length === 0 ? 0 : 1);

function fail(message: string): never {
  say(message);
  process.exit(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
