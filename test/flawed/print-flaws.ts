// npm run flaws; npx tsx test/flawed/print-flaws.ts [--whole]
// Every flawed receiver and the cases that convict it, and every receiver without a flaw, which runs all cases. Exits 1
// when a flaw goes free, a receiver without one is accused, or a program is missing. With --whole each flaw in
// JavaScript runs all cases too, which takes an hour and shows which others fail.
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { AUTHOR, FLAWED, INNOCENT, KINDS, missingOf, RELUCTANT, type Receiver } from "./flaws.js";
import { inPool, ORDERS } from "./judge.js";

const isWhole = process.argv.includes("--whole");
const startedAt = performance.now();
const secondsSince = (): number => Math.round((performance.now() - startedAt) / 1_000);
for (const kind of KINDS) {
  const missing = missingOf(kind);
  if (missing !== undefined) throw new Error(missing);
}

let judged = 0;
/** Judges receivers, those in JavaScript many at a time, and the others less, since each has a process of its own. */
async function judgeAll<T extends Receiver>(
  rows: readonly T[],
  reportOf: (row: T) => Promise<ConformanceReport>,
) {
  const judgeOne = async (row: T) => {
    const { results } = await reportOf(row);
    judged += 1;
    if (judged % 50 === 0) process.stderr.write(`${judged} judged in ${secondsSince()} s\n`);
    return { ...row, failed: results.filter(({ result }) => result === "failed") };
  };
  const isQuick = ({ kind }: T) => kind === "JavaScript";
  return [
    ...(await inPool(rows.filter(isQuick), 16, judgeOne)),
    ...(await inPool(
      rows.filter((row) => !isQuick(row)),
      4,
      judgeOne,
    )),
  ];
}

process.stderr.write(
  `judging ${FLAWED.length} receivers with a flaw, and ${INNOCENT.length} without\n`,
);
const flaws = await judgeAll(FLAWED, ({ kind, caughtBy, isSlow = false, judge }) => {
  // In a whole run many cases wait for a receiver that hangs.
  if (isWhole && kind === "JavaScript") return judge(undefined, isSlow ? { timeoutMs: 5_000 } : {});
  return judge(caughtBy);
});
const innocent = await judgeAll(INNOCENT, ({ judge }) => judge(undefined, {}, ORDERS));
const hardToSee = await judgeAll(RELUCTANT, ({ judge }) => judge(undefined, {}, ORDERS));

say(`Author of the list of flaws: ${AUTHOR}.`);
let free = 0;
for (const wanted of KINDS) {
  const rest = isWhole ? [" other cases that fail |", " --- |"] : ["", ""];
  say(`\n| a receiver in ${wanted} that … | is convicted by | level |${rest[0]}`);
  say(`| --- | --- | --- |${rest[1]}`);
  for (const { does, caughtBy, failed } of flaws.filter(({ kind }) => kind === wanted)) {
    const convicting = failed.filter(({ id }) => caughtBy.includes(id));
    const escaped = caughtBy.filter((id) => !failed.some((one) => one.id === id));
    if (escaped.length > 0) free += 1;
    const cases = [...convicting.map(({ id }) => id), ...escaped.map((id) => `NOT by ${id}`)];
    const levels = new Set(convicting.map(({ level }) => level));
    const others = failed.filter(({ id }) => !caughtBy.includes(id)).map(({ id }) => id);
    say(
      `| ${does} | ${cases.join(", ")} | ${[...levels].join(", ")} |${isWhole ? ` ${others.join(", ")} |` : ""}`,
    );
  }
}
say("\n| a receiver without a flaw | in | cases that fail |\n| --- | --- | --- |");
for (const { kind, does, failed } of [...innocent, ...hardToSee]) {
  say(`| ${does} | ${kind} | ${failed.map(({ id }) => id).join(", ")} |`);
}

const accused =
  innocent.filter(({ failed }) => failed.length > 0).length +
  hardToSee.filter(({ failed }) => failed.some(({ level }) => level === "must")).length;
say(
  `\n${flaws.length - free} of ${flaws.length} flaws convicted, ${accused} of ${innocent.length + hardToSee.length} receivers without a flaw accused (${secondsSince()} s)`,
);
process.exitCode = free + accused === 0 ? 0 : 1;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
