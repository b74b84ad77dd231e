import type { History, Interruption } from "./history.js";
import type { Run, Runs } from "./runs.js";

/** Why another process could have a delivery that this run had claimed. */
export type Excuse = "killed" | "stood still" | "lost its lease" | "not settled" | "store away";

/** A stall that is shorter by this much may be one: it is seen by a timer. */
const STALL_SHARE = 0.6;
/** By then the end of a pause is written down, while the process goes on already. */
const NOTICED_WITHIN_MS = 200;

/** What was written down of the loss of a claim. */
export interface Excuses {
  /** Why a run had lost its claim when another one of its delivery began; undefined for no reason. */
  readonly of: (earlier: Run, laterStartedAt: number) => Excuse | undefined;
  /** Whether a run's process stood still between its claim and its start, so that it began too late. */
  readonly cameLate: (run: Run) => boolean;
}

/** Finds excuses. */
export function createExcuses({ guarantee, holdMs, interruptions }: History, runs: Runs): Excuses {
  const ofReceiver = new Map<number, Exclude<Interruption, { kind: "store" }>[]>();
  const ofStore: Interruption[] = [];
  for (const interruption of interruptions) {
    if (interruption.kind === "store") ofStore.push(interruption);
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

  const of: Excuses["of"] = (earlier, laterStartedAt) => {
    const { receiver, id, startedAt, isLost } = earlier;
    const own = ofReceiver.get(receiver) ?? [];
    const { settledAt: times, isUnsettled } = runs.settlementOf(receiver, id);
    // Not by a later run in the same process.
    const settledAt = times.find((at) => at >= startedAt && at <= laterStartedAt);
    if (isLost) return "lost its lease";
    if (isUnsettled) return "not settled";

    const isCutOff = own.some(
      ({ kind, from, to }) =>
        kind === "kill" && settledAt === undefined && to >= startedAt && from <= laterStartedAt,
    );
    if (isCutOff) return "killed";

    // Its claim was granted some time before the handler was called.
    const heldFrom = startedAt - holdMs;
    const heldTo = Math.min(settledAt ?? Infinity, laterStartedAt);
    const hasStoodStill = pausesOf(receiver).some(
      ({ from, to }) => to >= heldFrom && from <= heldTo,
    );
    if (hasStoodStill) return "stood still";

    // An engine's worker does not say which verdict it could not write, or which lock ended before it
    // heard of its job.
    const wasAway =
      guarantee === "inbox" &&
      settledAt === undefined &&
      ofStore.some(({ from, to }) => to >= heldFrom && from <= laterStartedAt);
    return wasAway ? "store away" : undefined;
  };

  return {
    of,
    cameLate: ({ receiver, startedAt }) =>
      pausesOf(receiver).some(
        ({ to }) => to >= startedAt - holdMs && to <= startedAt + NOTICED_WITHIN_MS,
      ),
  };
}
