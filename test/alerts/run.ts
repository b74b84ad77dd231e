// npm run alerts [-- --only wrong-secret …] [-- --only month] [-- --only calm]
// Simulates a month with failures and calm months at five volumes, then plants thirteen silent failures in real apps,
// watched by a real Prometheus with the published rules. Writes the numbers and tables of test/alerts/results.md after
// a full run; --only month and --only calm theirs. ALERT_RULES=FILE judges another rules file, and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { markdownTable } from "../platforms/page.js";
import { hasRedisServer } from "../support/redis/redis-server.js";
import { type FailureResult, type ProofResults, runProof } from "./live/run-proof.js";
import { type CalmMonth, runCalm } from "./month/run-calm.js";
import { isNoticed, type Month, type MonthRow, runMonth } from "./month/run-month.js";
import { missingPrometheus } from "./prometheus.js";
import { OTHER_RULES, SHORTENED, SILENT_FAILURES } from "./rules.js";

/** What the month shows against the rules; empty if all is well. */
function monthComplaints({ calm, rows }: Month): readonly string[] {
  return [
    ...rows
      .filter((row) => !isNoticed(row))
      .map(({ plant }) => `not noticed in time: ${plant.title}`),
    ...calm.map((alert) => `${alert} fired in the calm weeks`),
  ];
}

/** The calm months that paged someone. */
function calmComplaints(months: readonly CalmMonth[]): readonly string[] {
  return months.flatMap(({ perDay, critical }) =>
    critical.map((alert) => `${alert} fired in the calm month with ${perDay} deliveries a day`),
  );
}

/** The page with what the calm months showed. */
function withCalm(page: string, months: readonly CalmMonth[]): string {
  return page.replace(/^\| deliveries a day \|[^]*?\n(?=\n)/m, `${calmTable(months)}\n`);
}

function calmTable(months: readonly CalmMonth[]): string {
  const rows = months.map(({ perDay, deliveries, critical, warnings }) => {
    return [perDay, deliveries, critical.join(", ") || 0, warnings.join(", ") || "–"];
  });
  return markdownTable(["deliveries a day", "in the month", "critical pages", "warnings"], rows);
}

/** The page with what a month showed. Its prose stands in the page alone. */
function withMonth(page: string, { rows, deliveries, calm }: Month): string {
  const seen = rows.filter(isNoticed).length;
  const calmWeeks = `Two weeks without a failure raised ${calm.join(", ") || "no alert"}.`;
  const days = `Then each app had one failure a day: ${seen} of ${rows.length} raised the right alert in time.`;
  return page
    .replace(/^Two weeks without a failure .*$/m, `${calmWeeks} ${days}`)
    .replace(/^\| planted \|[^]*?\n(?=\n)/m, `${monthTable(rows)}\n`)
    .replace(/(?<=a gateway with )\d+/, String(deliveries));
}

function monthTable(rows: readonly MonthRow[]): string {
  const titles = ["planted", "alert", "severity", "fired after", "health()", "others"];
  return markdownTable(titles, rows.map(cellsOf));
}

function cellsOf(row: MonthRow): readonly string[] {
  const { plant, severity = "", afterMinutes, health, held, others } = row;
  const after = afterMinutes === undefined ? "**not**" : timeText(afterMinutes);
  return [
    plant.title,
    plant.alert,
    severity,
    held ? after : `${after}, not until the cure`,
    health,
    others.join(", ") || "–",
  ];
}

function timeText(minutes: number): string {
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** At least so many of the thirteen must raise their alert in time. */
const LEAST_FIRED = 12;

/** How many alerts fired within two windows. */
function firedOf(failures: readonly FailureResult[]): number {
  return failures.filter(({ firedAfterSeconds }) => firedAfterSeconds !== undefined).length;
}

/** What the run shows against the rules; empty if all is well. */
function complaintsOf({ calmAlerts, failures }: ProofResults): readonly string[] {
  const fired = firedOf(failures);
  const least = Math.min(LEAST_FIRED, failures.length);
  return [
    ...(fired < least
      ? [`${fired} of ${failures.length} failures raised their alert: too few`]
      : []),
    ...(calmAlerts.length > 0 ? [`the calm phase raised ${calmAlerts.join(", ")}`] : []),
  ];
}

/** The table of the run. */
function proofTable({ failures }: Pick<ProofResults, "failures">): string {
  const rows = failures.map(
    ({ failure, firedAfterSeconds, allowedSeconds, others, quietAfterSeconds }) => [
      failure.title,
      failure.alert,
      firedAfterSeconds === undefined ? "**not in time**" : `${firedAfterSeconds.toFixed(0)} s`,
      `${allowedSeconds} s`,
      others.join(", ") || "–",
      quietAfterSeconds === undefined ? "–" : `${quietAfterSeconds.toFixed(0)} s`,
    ],
  );
  const titles = "failure, alert, fired after, two windows, other alerts, quiet after the cure";
  return markdownTable(titles.split(", "), rows);
}

/** The page with what a run showed. */
function withRun(page: string, results: ProofResults): string {
  const { failures, requests, seconds, calmAlerts, calmSeconds } = results;
  const fired = firedOf(failures);
  const raised = `${fired} of ${failures.length} silent failures raised their alert within two windows`;
  const calm = `${calmSeconds} calm seconds before them raised ${calmAlerts.join(", ") || "none"}`;
  const pairs = Array.from(SHORTENED, ([from, to]) => `${from} → ${to}`).join(", ");
  return page
    .replace(
      /(?<=^Written by `npm run alerts` in ).*$/m,
      `${seconds.toFixed(0)} s: ${raised}. ${calm}.`,
    )
    .replace(/^\| failure \|[^]*?\n(?=\n)/m, `${proofTable(results)}\n`)
    .replace(/(?<=A sender delivers )\d+/, String(requests))
    .replace(/(?<=their durations are shorter \()[^)]*/, pairs);
}

const PAGE = fileURLToPath(new URL("results.md", import.meta.url));

const { values } = parseArgs({ options: { only: { type: "string", multiple: true } } });
const { only } = values;
const ids: readonly string[] = ["month", "calm", ...SILENT_FAILURES.map(({ id }) => id)];
const missing = missingPrometheus ?? (hasRedisServer ? undefined : "no redis-server on PATH");
const unknown = only?.find((id) => !ids.includes(id));
if (missing !== undefined) fail(missing);
if (unknown !== undefined) fail(`--only is one of:\n${ids.join("\n")}`);

const complaints: string[] = [];
if (only?.includes("month") ?? true) {
  say("simulating a month");
  const month = await runMonth();
  say(monthTable(month.rows));
  complaints.push(...monthComplaints(month));
  if (complaints.length === 0) change((page) => withMonth(page, month));
}
if (only?.includes("calm") ?? true) {
  say("simulating calm months");
  const months = await runCalm();
  say(calmTable(months));
  const found = calmComplaints(months);
  complaints.push(...found);
  if (found.length === 0) change((page) => withCalm(page, months));
}
if (only?.every((id) => id === "month" || id === "calm") === true) end("the months");

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
    const [, , row = ""] = proofTable({ failures: [result] }).split("\n");
    say(row);
  },
}).catch((error: unknown) => fail(`not finished: ${String(error)}`));

say(`\n${proofTable(results)}\n`);
complaints.push(...complaintsOf(results));
if (only === undefined && complaints.length === 0) {
  change((page) => withRun(page, results));
}
end(`${results.seconds.toFixed(0)} s`);

function change(changed: (page: string) => string): void {
  if (OTHER_RULES === undefined) writeFileSync(PAGE, changed(readFileSync(PAGE, "utf8")));
}

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
