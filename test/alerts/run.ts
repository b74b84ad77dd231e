// npm run alerts [-- --only wrong-secret …] [-- --only month]
// Simulates a month, then plants twelve silent failures in real apps, watched by a real Prometheus with the published
// rules. Writes docs/monitoring/proof.md after a full run; --only month its section on the month.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { hasRedisServer } from "../support/redis/redis-server.js";
import { type FailureResult, type ProofResults, runProof } from "./live/run-proof.js";
import { type Month, type MonthRow, runMonth } from "./month/run-month.js";
import { missingPrometheus } from "./prometheus.js";
import { SHORTENED, SILENT_FAILURES } from "./rules.js";

/** At least so many of the failures must be noticed. */
const LEAST_SEEN = 25;

/** What the month shows against the rules; empty if all is well. */
function monthComplaints({ calm, rows }: Month): readonly string[] {
  const seen = rows.filter(({ afterMinutes }) => afterMinutes !== undefined).length;
  return [
    ...(seen < LEAST_SEEN ? [`${seen} of ${rows.length} failures of the month were noticed`] : []),
    ...calm.map((alert) => `${alert} fired in the calm weeks`),
  ];
}

/** The section of `docs/monitoring/proof.md` on the month. */
function monthSection(month: Month): string {
  const { rows, deliveries, calm } = month;
  const seen = rows.filter(({ afterMinutes }) => afterMinutes !== undefined).length;
  const titles = ["app", "failure", "alert", "fired after", "until the cure", "health()", "others"];
  const table = [titles, titles.map(() => "---"), ...rows.map(cellsOf)];
  return `## A month

Two weeks without a failure raised ${calm.length === 0 ? "no alert" : calm.join(", ")}. Then each app had one failure a day: ${seen} of ${rows.length} raised the right alert.

${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

The 28 days pass in virtual time: an app with two replicas and another one with a single replica, each with real receivers, a gateway with ${deliveries} deliveries and its retries, and \`webhooks check\` each hour and \`webhooks reconcile\` each six hours. \`metricsText\` is read each five minutes, and \`promtool test rules\` evaluates [the rules](alerts.yml), with their real durations, on what it said. Days are busy, weekends quiet, nights without a delivery; some deliveries come twice, and each app is deployed each morning. "Until the cure" says whether the alert held until then; \`health()\` is that of the worst replica when the alert fired.
`;
}

function cellsOf({ app, plant, afterMinutes, health, held, others }: MonthRow): readonly string[] {
  return [
    app,
    plant.title,
    plant.alert,
    afterMinutes === undefined ? "**not**" : timeText(afterMinutes),
    held ? "yes" : "no",
    health,
    others.join(", ") || "–",
  ];
}

function timeText(minutes: number): string {
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** At least so many of the twelve must raise their alert in time. */
const LEAST_FIRED = 11;

/** Whether an alert fired within two windows. */
function hasFired({ firedAfterSeconds }: FailureResult): boolean {
  return firedAfterSeconds !== undefined;
}

/** What the run shows against the rules; empty if all is well. */
function complaintsOf({ calmAlerts, failures }: ProofResults): readonly string[] {
  const fired = failures.filter(hasFired).length;
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
  const titles = [
    "failure",
    "alert",
    "fired after",
    "two windows",
    "other alerts",
    "quiet after the cure",
  ];
  return [titles, titles.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** The page `docs/monitoring/proof.md`. */
function proofPage(
  results: ProofResults,
  shortened: ReadonlyMap<string, string>,
  month: string,
): string {
  const { failures, requests, seconds, calmAlerts, calmSeconds } = results;
  const fired = failures.filter(hasFired).length;
  const pairs = Array.from(shortened, ([from, to]) => `${from} → ${to}`).join(", ");
  return `# Alerts that have been seen to fire

Written by \`npm run alerts\` in ${seconds.toFixed(0)} s: ${fired} of ${failures.length} silent failures raised their alert within two windows. ${calmSeconds} calm seconds before them raised ${calmAlerts.length === 0 ? "none" : calmAlerts.join(", ")}.

${proofTable(results)}

${month}
## What the run does

It starts a real Prometheus, an Express app with a receiver on Redis, and an app with an inbox on BullMQ, both with \`/opentelemetry\` and the Prometheus exporter of OpenTelemetry. A sender delivers ${requests} signed alarms and events. Prometheus scrapes both apps each second and evaluates [the rules](alerts.yml) as they are published, with one change: their durations are shorter (${pairs}).

Each failure is planted as it happens: another secret or a wrong clock in a new deployment, \`express.json()\` before the receiver, \`kill -9\` for Redis, a slow network to it, a handler that waits two seconds longer each second, a queue whose jobs fail, a sender that hangs up. When the alert has fired, the failure is cured, and the next one waits until no alert fires. A window is the longest range of the rule plus its \`for\`.

The sender sends no delivery twice. The gateway does, up to six times in the first ten minutes, so that a real failure is counted more often.

## The quiet nights

Two calm weeks cannot be run in minutes, so \`promtool test rules\` evaluates the rules, with their real durations, on a recording of two weeks: busy days, quiet weekends, nights without a delivery, bots that find the URL, a deployment each day, and now and then a failed handler, a slow call, a sender that hangs up. No alert fires. On the third Monday nothing arrives, and \`GatewayWebhookSilent\` fires within three and a half hours. \`npm test\` runs this, and each of the twelve failures, on every change.
`;
}

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
