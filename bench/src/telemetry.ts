import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runFresh } from "./fresh-process.js";
import { caption } from "./report/caption.js";
import { duration, ratio, renderTable } from "./report/markdown.js";
import { median } from "./statistics.js";
import { VARIANTS, type PairRequest, type PairResult, type Variant } from "./telemetry/variants.js";

// What telemetry adds to one delivery: pairs of receivers in the same process, each pair in several
// processes. `--before DIR` also compares with the build in DIR/dist.
const PROCESSES = 5;
const ROUNDS = 81;
/** The bounds, as ratios. */
const MUST: Partial<Record<Variant, number>> = {
  before: 1.01,
  text: 1.15,
  metrics: 1.15,
  spansToByHand: 1.3,
};

const { values } = parseArgs({ options: { before: { type: "string" } } });
const measured = (Object.keys(VARIANTS) as Variant[]).filter(
  (variant) => variant !== "nothing" && (variant !== "before" || values.before !== undefined),
);

const rows: string[][] = [];
for (const variant of measured) {
  const request: PairRequest = { variant, rounds: ROUNDS, before: values.before };
  process.stderr.write(`measuring ${VARIANTS[variant]}\n`);
  const results: PairResult[] = [];
  for (let run = 0; run < PROCESSES; run++) {
    const script = new URL("./telemetry/child.js", import.meta.url);
    results.push((await runFresh(script, { args: [JSON.stringify(request)] })) as PairResult);
  }
  const ratios = results.map((one) => one.ratio).sort((a, b) => a - b);
  const middle = median(ratios);
  const added = median(results.map(({ ratio: of, baseNs }) => (of - 1) * baseNs));
  const must = MUST[variant];
  rows.push([
    VARIANTS[variant],
    ratio(middle),
    `${ratio(ratios[0] ?? middle)} to ${ratio(ratios.at(-1) ?? middle)}`,
    `${added < 0 ? "−" : ""}${duration(Math.abs(added))}`,
    must === undefined ? "" : `≤ ${ratio(must)}`,
  ]);
}

const columns = ["what", "ratio", "least to largest", "added", "must"];
const effort = `an alarm of 1 KB in process, memory store, synchronous handler; medians of ${PROCESSES} processes with ${ROUNDS} rounds each; `;
const table = renderTable({ title: "What telemetry adds to one delivery", columns, rows });
const text = `# What telemetry costs\n\n${caption("telemetry", undefined, effort)}\n\n${table}`;
console.log(text);
writeFileSync(new URL("../results/telemetry.md", import.meta.url), text);
