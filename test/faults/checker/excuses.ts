import type { History, Interruption } from "./history.js";
import type { Run, Runs } from "./runs.js";

/** Why another process was allowed to take over a delivery that this run had claimed. */
type Excuse =
  "killed" | "was paused" | "lost its lease" | "not settled" | "store away" | "store forgot";

/** Tolerance for the length of a stall, in milliseconds: a timer measures it. */
const STALL_SHARE = 0.6;
/** The end of a pause is recorded at most this much later, while the process already runs again. */
const NOTICED_WITHIN_MS = 200;

/** The recorded reasons for losing a claim. */
export type Excuses = ReturnType<typeof createExcuses>;

/** Finds the reasons in the records. */
export function createExcuses({ guarantee, holdMs, interruptions }: History, runs: Runs) {
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
