import { checkAnswers, checkForgeries } from "./check-answers.js";
import { checkRuns } from "./check-runs.js";
import type { History } from "./history.js";
import { checkLimits, mostAtOnce } from "./check-limits.js";
import { readRuns } from "./runs.js";
import type { CheckResult, Violation } from "./violation.js";

/** Checks the records of a run against the rules. Uses nothing but the records. */
export function check(history: History): CheckResult {
  const runs = readRuns(history.lines);
  const judged = checkRuns(history, runs);
  const ends = history.deliveries.flatMap(({ id, end }): Violation[] => {
    if (end === "given_up") return [{ rule: "given up", detail: id }];
    return end === "stopped" ? [{ rule: "unfinished", detail: `delivery ${id}` }] : [];
  });
  return {
    violations: [
      ...judged.violations,
      ...checkExact(history),
      ...checkAnswers(history),
      ...checkForgeries(history),
      ...checkLimits(history, runs),
      ...ends,
      ...history.unfinishedIds.map((id): Violation => ({
        rule: "unfinished",
        detail: `job ${id}`,
      })),
      ...history.unexpectedExits.map((detail): Violation => ({ rule: "receiver ended", detail })),
    ],
    effects: history.exactIds?.length ?? judged.effects,
    explainedDoubles: judged.explainedDoubles,
    unwarnedDoubles: judged.unwarnedDoubles,
    unexplainedDoubles: judged.unexplainedDoubles,
    exhausted: history.deliveries.filter(({ end }) => end === "exhausted").length,
    stuck: history.lines.filter(({ kind }) => kind === "stuck").length,
    overloaded: history.answers.filter(({ outcome }) => outcome === "overloaded").length,
    mostAtOnce: mostAtOnce(runs),
  };
}

/** Exactly one effect for each acknowledged delivery, and never more than one. */
function checkExact({ exactIds, answers }: History): readonly Violation[] {
  if (exactIds === undefined) return [];
  const counts = new Map<string, number>();
  for (const id of exactIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  const acknowledged = new Set(answers.filter(isAcknowledged).map(({ id }) => id));
  const missing = [...acknowledged].filter((id) => !counts.has(id));
  const doubled = [...counts].filter(([, count]) => count > 1);
  return [
    ...missing.map((id): Violation => ({ rule: "not exactly once", detail: `${id}: none` })),
    ...doubled.map(([id, count]): Violation => ({
      rule: "not exactly once",
      detail: `${id}: ${count}`,
    })),
  ];
}

function isAcknowledged({ status }: { readonly status: number }): boolean {
  return status >= 200 && status <= 299;
}
