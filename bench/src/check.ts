import { measureInProcess, valuesOf } from "./in-process/measure.js";
import { ratio } from "./report/markdown.js";
import { TARGET_NAMES, targetOf, type TargetName } from "./targets.js";

const RUNS = 3;
const ROUNDS = 15;
/** How far a value may exceed its bound: other work on the machine changes it. */
const TOLERANCE = 1.15;

/** The targets that one run misses by more than the tolerance. */
async function missedOf(run: number, suspects: readonly TargetName[]): Promise<TargetName[]> {
  const values = valuesOf(await measureInProcess({ sizes: ["1 KB"], rounds: ROUNDS }, 1));
  const missed: TargetName[] = [];
  for (const name of suspects) {
    const value = values[name];
    if (value === undefined) throw new Error(`${name} was not measured`);
    const { label, must } = targetOf(name);
    const isMissed = value > must * TOLERANCE;
    if (isMissed) missed.push(name);
    const said = isMissed ? "MISSED by more than 15 %" : value > must ? "within 15 %" : "good";
    process.stdout.write(`run ${run}: ${label}: ${ratio(value)}, must ≤ ${ratio(must)}: ${said}\n`);
  }
  return missed;
}

let suspects = TARGET_NAMES.filter((name) => targetOf(name).checked === true);
for (let run = 1; run <= RUNS && suspects.length > 0; run++)
  suspects = await missedOf(run, suspects);

if (suspects.length > 0) {
  const labels = suspects.map((name) => targetOf(name).label);
  process.stderr.write(
    `bench:check failed: missed in ${RUNS} of ${RUNS} runs: ${labels.join("; ")}\n`,
  );
  process.exitCode = 1;
}
