// npm run faults [-- --seed N] [--mode lease-redis …] [--short] [--minutes 10] [--lock-seconds 60]
// Runs four receivers and a gateway under fault injection. Writes results.md after a full run.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FLAWED_RECEIVERS } from "./plan/flawed-receivers.js";
import { MODES } from "./plan/modes.js";
import { lasting, SHORT_PLAN, WHOLE_PLAN } from "./plan/plans.js";
import { complaintsOf, LEAST } from "./report/complaints.js";
import { pageOf, tablesOf } from "./report/markdown.js";
import { runFaults } from "./run-faults.js";

const PAGE = fileURLToPath(new URL("results.md", import.meta.url));
const SHOWN_COMPLAINTS = 40;
const MAX_SEED = 2 ** 31;
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    mode: { type: "string", multiple: true },
    short: { type: "boolean", default: false },
    minutes: { type: "string" },
    "lock-seconds": { type: "string" },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * MAX_SEED) : Number(values.seed);
const { mode: wanted, short: isShort } = values;
const lockSeconds = values["lock-seconds"];
const lockMs = lockSeconds === undefined ? undefined : Number(lockSeconds) * 1_000;
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
const isWhole = wanted === undefined && !isShort && minutes === undefined;
const plan = isShort ? SHORT_PLAN : WHOLE_PLAN;
const names = [...MODES.map(({ name }) => name), ...FLAWED_RECEIVERS.map(({ flaw }) => flaw)];
const unknown = wanted?.find((name) => !names.some((known) => known === name));
if (
  unknown !== undefined ||
  !Number.isInteger(seed) ||
  seed < 0 ||
  seed > MAX_SEED ||
  !(lockMs === undefined || lockMs >= 0) ||
  !(minutes === undefined || minutes > 0)
) {
  say(
    `--seed is a whole number up to ${MAX_SEED}, --lock-seconds and --minutes are numbers; --mode is one of:\n${names.join("\n")}`,
  );
  process.exit(2);
}

const modes = plan.modes
  .filter(({ name }) => wanted?.includes(name) ?? true)
  .map((mode) => (minutes === undefined ? mode : lasting(mode, minutes * MINUTE_MS)))
  .map((mode) => (lockMs === undefined ? mode : { ...mode, lockMs }));
const flawed = plan.flawed.filter(({ flaw }) => wanted?.includes(flaw) ?? true);
const planned = [...modes.map(({ name }) => name), ...flawed.map(({ flaw }) => flaw)];
const absent = wanted?.find((name) => !planned.some((known) => known === name));
if (absent !== undefined) {
  say(`--short has no mode ${absent}: leave out --short`);
  process.exit(2);
}

const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => ending.abort());
}

for (const name of ["uncaughtException", "unhandledRejection"] as const) {
  process.once(name, (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    ending.abort();
  });
}

say(`seed ${seed}`);
const results = await runFaults({
  ...plan,
  modes,
  flawed,
  seed,
  signal: ending.signal,
  onStart: (title) => say(`${title}: started`),
  onResult: (title, { checked, ms }) => {
    say(`${title}: ${Math.round(ms / 1000)} s, ${checked.violations.length} violations`);
  },
}).catch((error: unknown) => {
  say(`not finished: ${String(error)}`);
  return process.exit(2);
});
say(`\n${tablesOf(results)}\n`);

const complaints = complaintsOf(results, isWhole ? LEAST : {});
for (const complaint of complaints.slice(0, SHOWN_COMPLAINTS)) say(complaint);
if (complaints.length > SHOWN_COMPLAINTS) say(`and ${complaints.length - SHOWN_COMPLAINTS} more`);
if (isWhole) {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, pageOf(page, results, `npm run faults -- --seed ${seed}`));
}
say(`${complaints.length === 0 ? "PASSED" : "FAILED"}, in ${Math.round(results.ms / 1000)} s`);
// Explicit, because Node 20 may hang at its end on sockets that were reset.
process.exit(complaints.length === 0 ? 0 : 1);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
