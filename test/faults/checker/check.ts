import { countCrashes, findForgotten } from "./acknowledgements.js";
import { checkAnswers, checkForgeries } from "./check-answers.js";
import { checkRuns } from "./check-runs.js";
import type { History } from "./history.js";
import { checkLimits, mostAtOnce } from "./check-limits.js";
import { readRuns, type Runs } from "./runs.js";
import type { CheckResult, Violation } from "./violation.js";

/** Checks the records of a run against the rules. Uses nothing but the records. */
export function check(history: History): CheckResult {
  const runs = readRuns(history.lines);
  const forgottenIds = findForgotten(history);
  const crashes = countCrashes(history);
  const deadIds = history.deadIds.filter((id) => crashes.has(id));
  const excusedIds = new Set([...forgottenIds, ...deadIds]);
  const judged = checkRuns(history, runs, excusedIds);
  const ends = history.deliveries.flatMap(({ id, end }): Violation[] => {
    if (end === "given_up") return [{ rule: "given up", detail: id }];
    return end === "stopped" ? [{ rule: "unfinished", detail: `delivery ${id}` }] : [];
  });
  return {
    violations: [
      ...judged.violations,
      ...checkExact(history, excusedIds),
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
    explainedLosses: countLosses(history, runs, forgottenIds),
    exhausted: history.deliveries.filter(({ end }) => end === "exhausted").length,
    stuck: history.lines.filter(({ kind }) => kind === "stuck").length,
    replayed: history.lines.reduce(
      (total, line) => total + (line.kind === "replayed" ? line.count : 0),
      0,
    ),
    overloaded: history.answers.filter(({ outcome }) => outcome === "overloaded").length,
    mostAtOnce: mostAtOnce(runs),
  };
}

/** Exactly one effect for each acknowledged delivery, and never more than one. */
function checkExact(
  { exactIds, answers }: History,
  excusedIds: ReadonlySet<string>,
): readonly Violation[] {
  if (exactIds === undefined) return [];
  const counts = new Map<string, number>();
  for (const id of exactIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  const acknowledged = new Set(answers.filter(isAcknowledged).map(({ id }) => id));
  const missing = [...acknowledged].filter((id) => !counts.has(id) && !excusedIds.has(id));
  const doubled = [...counts].filter(([, count]) => count > 1);
  return [
    ...missing.map((id): Violation => ({ rule: "not exactly once", detail: `${id}: none` })),
    ...doubled.map(([id, count]): Violation => ({
      rule: "not exactly once",
      detail: `${id}: ${count}`,
    })),
  ];
}

/** How many of the deliveries that the store has forgotten have no effect either. */
function countLosses(
  { guarantee, exactIds = [] }: History,
  { byId }: Runs,
  forgottenIds: ReadonlySet<string>,
): number {
  const exact = new Set(exactIds);
  // The effect that a transaction made is gone with it, whatever its handler saw.
  const hasEffect = (id: string): boolean =>
    guarantee === "transactional"
      ? exact.has(id)
      : (byId.get(id) ?? []).some(({ effectAt }) => effectAt !== undefined);
  return [...forgottenIds].filter((id) => !hasEffect(id)).length;
}

function isAcknowledged({ status }: { readonly status: number }): boolean {
  return status >= 200 && status <= 299;
}
