import { firstAcknowledgements } from "./acknowledgements.js";
import type { History, Interruption } from "./history.js";
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

/** Why another process was allowed to take over a delivery that this run had claimed. */
type Excuse =
  "killed" | "was paused" | "lost its lease" | "not settled" | "store away" | "store forgot";

/** Tolerance for the length of a stall, in milliseconds: a timer measures it. */
const STALL_SHARE = 0.6;
/** The end of a pause is recorded at most this much later, while the process already runs again. */
const NOTICED_WITHIN_MS = 200;

/** The recorded reasons for losing a claim. */
type Excuses = ReturnType<typeof createExcuses>;

/** Finds the reasons in the records. */
function createExcuses({ guarantee, holdMs, interruptions }: History, runs: Runs) {
  const ofReceiver = new Map<number, Extract<Interruption, { receiver: number }>[]>();
  const ofStore: Interruption[] = [];
  for (const interruption of interruptions) {
    if (!("receiver" in interruption)) ofStore.push(interruption);
    else {
      const { receiver } = interruption;
      ofReceiver.set(receiver, [...(ofReceiver.get(receiver) ?? []), interruption]);
    }
  }

  const pausesOf = (receiver: number) =>
    [
      ...(ofReceiver.get(receiver) ?? []).filter(({ kind }) => kind === "stop"),
      ...runs.stallsOf(receiver),
    ].filter(({ from, to }) => to - from >= holdMs * STALL_SHARE);

  /** When the run was settled. A later run in the same process does not count. */
  const settledAtOf = ({ receiver, id, startedAt }: Run, laterStartedAt: number) =>
    runs.settlementOf(receiver, id).settledAt.find((at) => at >= startedAt && at <= laterStartedAt);

  /** From when to when the run had its claim: it was granted some time before the handler was called. */
  const heldBy = (run: Run, laterStartedAt: number): readonly [from: number, to: number] => [
    run.startedAt - holdMs,
    Math.min(settledAtOf(run, laterStartedAt) ?? Infinity, laterStartedAt),
  ];

  /** Whether the store has lost what it had confirmed while this run had its claim. */
  const isForgotten = (earlier: Run, laterStartedAt: number) => {
    const [heldFrom, heldTo] = heldBy(earlier, laterStartedAt);
    return ofStore.some(
      ({ kind, from, to }) => kind === "forgot" && to >= heldFrom && from <= heldTo,
    );
  };

  /** Why a run had lost its claim when the next run of its delivery began; undefined without a reason. */
  const of = (earlier: Run, laterStartedAt: number): Excuse | undefined => {
    const { receiver, id, startedAt, isLost } = earlier;
    const own = ofReceiver.get(receiver) ?? [];
    const { isUnsettled } = runs.settlementOf(receiver, id);
    const settledAt = settledAtOf(earlier, laterStartedAt);
    if (isLost) return "lost its lease";
    if (isUnsettled) return "not settled";

    const isCutOff = own.some(
      ({ kind, from, to }) =>
        kind === "kill" && settledAt === undefined && to >= startedAt && from <= laterStartedAt,
    );
    if (isCutOff) return "killed";

    const [heldFrom, heldTo] = heldBy(earlier, laterStartedAt);
    const wasPaused = pausesOf(receiver).some(({ from, to }) => to >= heldFrom && from <= heldTo);
    if (wasPaused) return "was paused";

    if (isForgotten(earlier, laterStartedAt)) return "store forgot";

    // A worker does not say which result it could not write, or which lock ended before it got the job.
    const wasAway =
      guarantee === "inbox" &&
      settledAt === undefined &&
      ofStore.some(({ from, to }) => to >= heldFrom && from <= laterStartedAt);
    return wasAway ? "store away" : undefined;
  };

  return {
    of,
    isForgotten,
    /** Whether a run's process was paused between claim and start, so that the run began too late. */
    cameLate: ({ receiver, startedAt }: Run) =>
      pausesOf(receiver).some(
        ({ to }) => to >= startedAt - holdMs && to <= startedAt + NOTICED_WITHIN_MS,
      ),
  };
}
