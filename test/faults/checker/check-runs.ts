import { firstAcknowledgements } from "./acknowledgements.js";
import { createExcuses, type Excuses } from "./excuses.js";
import type { History } from "./history.js";
import type { Run, Runs } from "./runs.js";
import type { CheckResult, Violation } from "./violation.js";

type CheckedRuns = Pick<
  CheckResult,
  "violations" | "effects" | "explainedDoubles" | "unwarnedDoubles" | "unexplainedDoubles"
>;

/** Finds missing, early and doubled effects, and runs after a completion. `excusedIds` may have no effect. */
export function checkRuns(
  history: History,
  runs: Runs,
  excusedIds: ReadonlySet<string>,
): CheckedRuns {
  const { guarantee } = history;
  const excuses = createExcuses(history, runs);
  const acknowledgedAt = firstAcknowledgements(history);
  const violations: Violation[] = [];
  let effects = 0;
  let explainedDoubles = 0;
  let unwarnedDoubles = 0;
  let unexplainedDoubles = 0;

  for (const [id, at] of acknowledgedAt) {
    const effectTimes = effectsOf(runs.byId.get(id) ?? []).map(({ effectAt }) => effectAt);
    if (effectTimes.length === 0) {
      if (!excusedIds.has(id)) violations.push({ rule: "lost", detail: id });
    } else if (guarantee !== "inbox" && !effectTimes.some((effectAt) => effectAt <= at)) {
      violations.push({ rule: "acknowledged too early", detail: id });
    }
  }

  for (const [id, ofDelivery] of runs.byId) {
    const withEffect = effectsOf(ofDelivery);
    effects += withEffect.length;
    // In a transaction the handler's view may be rolled back, so effects are counted in the database.
    if (guarantee !== "transactional") {
      withEffect.slice(1).forEach((later, at) => {
        const earlier = withEffect[at];
        if (earlier === undefined) return;
        const excuse = excuses.of(earlier, later.startedAt);
        if (excuse !== undefined || excuses.cameLate(later)) {
          explainedDoubles += 1;
          if (!later.takeover) unwarnedDoubles += 1;
          return;
        }
        unexplainedDoubles += 1;
        violations.push({ rule: "unexplained double", detail: describe(earlier, later) });
      });
    }

    if (guarantee === "lease") violations.push(...twiceInOneProcess(ofDelivery, excuses));

    const completedAt = guarantee === "inbox" ? undefined : acknowledgedAt.get(id);
    if (completedAt === undefined) continue;
    for (const late of ofDelivery.filter(({ startedAt }) => startedAt > completedAt)) {
      const before = ofDelivery.filter(({ startedAt }) => startedAt < completedAt);
      const isExcused =
        guarantee === "lease" &&
        (excuses.cameLate(late) ||
          before.some((run) => excuses.of(run, late.startedAt) !== undefined));
      const isForgotten = before.some((run) => excuses.isForgotten(run, late.startedAt));
      if (!isExcused && !isForgotten) violations.push({ rule: "run after completion", detail: id });
    }
  }
  return { violations, effects, explainedDoubles, unwarnedDoubles, unexplainedDoubles };
}

/** A process knows what it runs and what it has handled, whatever has become of its lease. */
function twiceInOneProcess(ofDelivery: readonly Run[], excuses: Excuses): readonly Violation[] {
  return ofDelivery.flatMap((later, at): Violation[] => {
    const earlier = ofDelivery
      .slice(0, at)
      .find(
        ({ receiver, effectAt, endedAt = 0 }) =>
          receiver === later.receiver && (effectAt !== undefined || endedAt > later.startedAt),
      );
    if (earlier === undefined || excuses.isForgotten(earlier, later.startedAt)) return [];
    return [{ rule: "twice in one process", detail: describe(earlier, later) }];
  });
}

function effectsOf(runs: readonly Run[]): (Run & { readonly effectAt: number })[] {
  return runs.flatMap((run) => {
    const { effectAt } = run;
    return effectAt === undefined ? [] : [{ ...run, effectAt }];
  });
}

function describe(earlier: Run, later: Run): string {
  const gap = Math.round(later.startedAt - earlier.startedAt);
  return `${later.id}: by receiver ${earlier.receiver}, and ${gap} ms later by ${later.receiver}`;
}
