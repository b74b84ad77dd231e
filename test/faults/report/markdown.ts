import type { Rule } from "../checker/violation.js";
import type { Detection, FaultResults } from "../run-faults.js";
import type { ModeResult } from "../run-mode.js";
import { detectionsOf, totalsOf } from "./complaints.js";

const COLUMNS: readonly (readonly [string, (result: ModeResult) => string | number])[] = [
  ["mode", ({ mode }) => mode.title],
  ["deliveries", ({ deliveries }) => count(deliveries)],
  ["requests", ({ requests }) => count(requests)],
  ["forgeries", ({ forgeries }) => count(forgeries)],
  ["kill -9", ({ faults }) => faults.kills],
  ["stopped", ({ faults }) => faults.stops],
  ["store restarted", ({ faults }) => faults.restarts],
  ["cut", ({ faults }) => faults.cuts],
  ["black hole, held, slow", ({ faults }) => faults.blackHoles + faults.holds + faults.latencies],
  ["answers lost", ({ faults }) => faults.lostAnswers],
  ["effects", ({ checked }) => count(checked.effects)],
  ["doubles explained", ({ checked }) => checked.explainedDoubles],
  ["not warned", ({ checked }) => checked.unwarnedDoubles],
  ["unexplained", ({ checked }) => `**${checked.unexplainedDoubles}**`],
  ["violations", ({ checked }) => `**${checked.violations.length}**`],
  ["exhausted", ({ checked }) => checked.exhausted],
];

/** The columns of the special modes. Undefined in a mode that does not have that fault. */
const SPECIAL_COLUMNS: readonly (readonly [string, (result: ModeResult) => string | undefined])[] =
  [
    [
      "runs that never settled",
      ({ mode, checked }) =>
        mode.handler.stuckOneIn === undefined ? undefined : count(checked.stuck),
    ],
    [
      "most handlers at once in a receiver",
      ({ mode, checked }) => against(mode.limits?.handlersAtOnce, checked.mostAtOnce),
    ],
    [
      "answers of `overloaded`",
      ({ mode, checked }) =>
        mode.options?.maxConcurrentDeliveries === undefined ? undefined : count(checked.overloaded),
    ],
    [
      "times that rows were locked",
      ({ mode, faults }) => (mode.faults.rowLocks === 0 ? undefined : count(faults.rowLocks)),
    ],
    [
      "times that connections were ended",
      ({ mode, faults }) => (mode.faults.endings === 0 ? undefined : count(faults.endings)),
    ],
    [
      "acknowledged, lost with an asynchronous standby",
      ({ mode, checked }) =>
        mode.standby === undefined ? undefined : count(checked.explainedLosses),
    ],
    [
      "dead jobs replayed by two operators",
      ({ mode, checked }) => (mode.faults.replays === 0 ? undefined : count(checked.replayed)),
    ],
    [
      "most server connections",
      ({ mode, mostConnections }) => against(mode.limits?.connections, mostConnections),
    ],
  ];

function against(allowed: number | undefined, most: number | undefined): string | undefined {
  return allowed === undefined ? undefined : `${most ?? 0}, ${allowed} allowed`;
}

function specialModesTable(modes: readonly ModeResult[]): readonly string[] {
  const rows = modes
    .map((result) => [
      result.mode.title,
      ...SPECIAL_COLUMNS.map(([, cellOf]) => cellOf(result) ?? "–"),
    ])
    .filter(([, ...cells]) => cells.some((cell) => cell !== "–"));
  const header = ["special mode", ...SPECIAL_COLUMNS.map(([name]) => name)];
  return rows.length === 0 ? [] : [table(header, rows), ""];
}

/** The tables of a run. */
export function tablesOf({ modes, detections }: FaultResults): string {
  const header = COLUMNS.map(([name]) => name);
  const rows = modes.map((result) => COLUMNS.map(([, of]) => String(of(result))));
  const bad = detections.map((detection) => [
    detection.mode.title,
    count(detection.result.deliveries),
    String(detection.result.faults.kills),
    detection.detectedBy,
    `**${detectionsOf(detection)}**`,
    otherRules(detection),
  ]);
  return [
    table(header, rows),
    "",
    ...specialModesTable(modes),
    table(["flawed receiver", "deliveries", "kill -9", "found by rule", "times", "also"], bad),
  ].join("\n");
}

/** Where the part of the page begins that no run changes. */
const UNCHANGED = "## How to run it";

/** The page after another run, which `command` repeats: only its tables and figures are new. */
export function pageOf(page: string, results: FaultResults, command: string): string {
  const { deliveries, kills, restarts, cuts } = totalsOf(results.modes);
  if (!page.includes(UNCHANGED)) throw new Error(`the page lacks ${UNCHANGED}`);
  return `# Proof by faults

Written by \`${command}\` in ${Math.round(results.ms / 1000)} s: ${count(deliveries)} deliveries, ${kills} × \`kill -9\`, ${restarts} restarts of a store, ${cuts} network cuts. A seed always gives the same deliveries and the same faults in the same order. Which request a fault hits depends on timing.

${tablesOf(results)}

${page.slice(page.indexOf(UNCHANGED))}`;
}

function otherRules({ detectedBy, result }: Detection): string {
  const counts = new Map<Rule, number>();
  for (const { rule } of result.checked.violations) {
    if (rule !== detectedBy) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts].map(([rule, times]) => `${rule} (${times})`).join(", ") || "–";
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, at) => (at === 0 ? "---" : "---:"));
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}

function count(number: number): string {
  return number.toLocaleString("en-US").replaceAll(",", " ");
}
