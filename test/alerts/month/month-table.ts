import type { Month, MonthRow } from "./run-month.js";

/** At least so many of the failures must be noticed. */
const LEAST_SEEN = 25;

/** What the month shows against the rules; empty if all is well. */
export function monthComplaints({ calm, rows }: Month): readonly string[] {
  const seen = rows.filter(({ afterMinutes }) => afterMinutes !== undefined).length;
  return [
    ...(seen < LEAST_SEEN ? [`${seen} of ${rows.length} failures of the month were noticed`] : []),
    ...calm.map((alert) => `${alert} fired in the calm weeks`),
  ];
}

/** The section of `docs/monitoring/proof.md` on the month. */
export function monthSection(month: Month): string {
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
