import { readFileSync } from "node:fs";
import { measureInProcess, valuesOf } from "./in-process/measure.js";
import { ratio } from "./report/markdown.js";
import { TARGET_NAMES, targetOf, type TargetName } from "./targets.js";

const RUNS = 3;
const ROUNDS = 150;
/** How far a value may exceed the published one: other work on the machine changes it. */
const TOLERANCE = 1.1;

/** The published value of each row under the running Node: of the column that is named after it. */
function publishedValues(): ReadonlyMap<string, number> {
  const table = readFileSync(new URL("../results/table.md", import.meta.url), "utf8");
  const [head = [], , ...rows] = table
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const column = head.indexOf(`Node ${process.versions.node.split(".", 1).join("")}`);
  return new Map(rows.map((cells) => [cells[1] ?? "", Number(cells[column])]));
}

const published = publishedValues();

/** The rows that one run finds slower than published by more than the tolerance. */
async function slowerOf(run: number, suspects: readonly TargetName[]): Promise<TargetName[]> {
  const values = valuesOf(await measureInProcess({ sizes: ["1 KB"], rounds: ROUNDS }, 1));
  return suspects.filter((name) => {
    const { label } = targetOf(name);
    const value = values[name];
    const before = published.get(label);
    if (value === undefined || before === undefined) throw new Error(`${label} was not measured`);
    const isSlower = value > before * TOLERANCE;
    const said = isSlower ? "SLOWER by more than 10 %" : "good";
    process.stdout.write(
      `run ${run}: ${label}: ${ratio(value)}, published ${ratio(before)}: ${said}\n`,
    );
    return isSlower;
  });
}

let suspects = TARGET_NAMES.filter((name) => targetOf(name).checked === true);
for (let run = 1; run <= RUNS && suspects.length > 0; run++)
  suspects = await slowerOf(run, suspects);

if (suspects.length > 0) {
  const labels = suspects.map((name) => targetOf(name).label);
  process.stderr.write(
    `bench:check failed: slower than published in ${RUNS} of ${RUNS} runs: ${labels.join("; ")}\n`,
  );
  process.exitCode = 1;
}
