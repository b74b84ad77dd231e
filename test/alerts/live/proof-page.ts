import type { FailureResult, ProofResults } from "./run-proof.js";

/** At least so many of the twelve must raise their alert in time. */
const LEAST_FIRED = 11;

/** Whether an alert fired within two windows. */
function hasFired({ firedAfterSeconds }: FailureResult): boolean {
  return firedAfterSeconds !== undefined;
}

/** What the run shows against the rules; empty if all is well. */
export function complaintsOf({ calmAlerts, failures }: ProofResults): readonly string[] {
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
export function proofTable({ failures }: Pick<ProofResults, "failures">): string {
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
export function proofPage(
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
