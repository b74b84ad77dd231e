// npm run flaws; npx tsx test/flawed/print-flaws.ts [--whole]
// Every flawed receiver and the case that convicts it, and every receiver without a flaw, which runs all cases. Exits 1
// when a flaw goes free or a receiver without one is accused. With --whole each flaw runs all cases too, which takes an
// hour and shows which others fail.
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { rowsOf } from "./flaw.js";
import { AUTHOR, FLAWS } from "./flaws.js";
import { inPool, judge } from "./judge.js";
import { NGINX_FLAWS, NGINX_HARMLESS } from "./nginx-flaws.js";
import { missingNginx } from "./nginx.js";
import { RIGHT_RECEIVERS } from "./right-receivers.js";
import { VARIANTS } from "./variants.js";

const AT_A_TIME = 16;

const isNamedOnly = !process.argv.includes("--whole");
const startedAt = performance.now();
const noNginx = missingNginx();
if (noNginx !== undefined) throw new Error(noNginx);
process.stderr.write(
  `judging ${FLAWS.length + NGINX_FLAWS.length} receivers with a flaw, and ${RIGHT_RECEIVERS.length + Object.keys(VARIANTS).length + NGINX_HARMLESS.length} without\n`,
);

let judged = 0;
const isJudged = (): void => {
  judged += 1;
  if (judged % 50 === 0) {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    process.stderr.write(`${judged} judged in ${seconds} s\n`);
  }
};

const flawed = [
  ...FLAWS.map((row) => ({ ...row, front: undefined, only: isNamedOnly })),
  // A whole run through a cache takes minutes.
  ...NGINX_FLAWS.map((row) => ({ ...row, options: undefined, only: true })),
];
const flaws = await inPool(flawed, AT_A_TIME, async (row) => {
  const { does, caughtBy, createServer, options, front, only } = row;
  // In a whole run many cases wait for a receiver that hangs.
  const limits = options?.timeoutMs === undefined ? options : { ...options, timeoutMs: 5_000 };
  const report = await judge(createServer, limits, only ? [caughtBy] : undefined, front);
  isJudged();
  const failed = report.results.filter(({ result }) => result === "failed");
  return { does, caughtBy, failed, isConvicted: failed.some(({ id }) => id === caughtBy) };
});

const right = RIGHT_RECEIVERS.map(([name, createServer]) => {
  return { name: `right: ${name}`, createServer, options: undefined, front: undefined };
});
const variants = rowsOf(VARIANTS).map(({ does, ...row }) => ({
  ...row,
  front: undefined,
  name: `harmless: ${does}`,
}));
const proxied = NGINX_HARMLESS.map(({ does, ...row }) => ({
  ...row,
  options: undefined,
  name: `harmless: ${does}`,
}));
const innocent = await inPool(
  [...right, ...variants, ...proxied],
  AT_A_TIME,
  async ({ name, createServer, options, front }) => {
    const { results } = await judge(createServer, options, undefined, front);
    isJudged();
    return { name, failed: results.filter(({ result }) => result === "failed") };
  },
);

say(`Author of the list of flaws: ${AUTHOR}.\n`);
say(
  `| a receiver that … | is convicted by | level |${isNamedOnly ? "" : " other cases that fail |"}`,
);
say(`| --- | --- | --- |${isNamedOnly ? "" : " --- |"}`);
for (const { does, caughtBy, failed, isConvicted } of flaws) {
  const level = failed.find(({ id }) => id === caughtBy)?.level ?? "";
  const others = failed.filter(({ id }) => id !== caughtBy);
  const convictedBy = isConvicted ? caughtBy : `NOT by ${caughtBy}`;
  say(`| ${does} | ${convictedBy} | ${level} |${isNamedOnly ? "" : ` ${idsOf(others)} |`}`);
}
say("\n| a receiver without a flaw | cases that fail |\n| --- | --- |");
for (const { name, failed } of innocent) say(`| ${name} | ${idsOf(failed)} |`);

const free = flaws.filter(({ isConvicted }) => !isConvicted).length;
const accused = innocent.filter(({ failed }) => failed.length > 0).length;
const seconds = Math.round((performance.now() - startedAt) / 1_000);
say(
  `\n${flaws.length - free} of ${flaws.length} flaws convicted, ${accused} of ${innocent.length} receivers without a flaw accused (${seconds} s)`,
);
process.exitCode = free + accused === 0 ? 0 : 1;

function idsOf(failed: ConformanceReport["results"]): string {
  return failed.map(({ id }) => id).join(", ");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
