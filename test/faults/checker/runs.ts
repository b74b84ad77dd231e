import type { LedgerLine } from "./history.js";

/** One call of a handler, as recorded by its process. */
export interface Run {
  readonly id: string;
  readonly receiver: number;
  readonly takeover: boolean;
  readonly startedAt: number;
  /** Time of its effect; undefined without an effect. */
  effectAt: number | undefined;
  /** Whether its signal aborted. */
  isLost: boolean;
  /** Time when it returned or threw; undefined if it did neither. */
  endedAt: number | undefined;
}

/** The ledgers of all receivers in order. */
export type Runs = ReturnType<typeof readRuns>;

/** Reads runs from ledger lines. A run without an end was cut off. */
export function readRuns(lines: readonly LedgerLine[]) {
  const ordered = [...lines].sort((a, b) => a.at - b.at);
  const byId = new Map<string, Run[]>();
  const byRun = new Map<string, Run>();
  /** With the time of each settled run. */
  const settlements = new Map<string, { readonly settledAt: number[]; isUnsettled: boolean }>();
  const stalls = new Map<number, { from: number; to: number }[]>();

  /** What a receiver has recorded about the end of a delivery. */
  const settlementOf = (receiver: number, id: string) => {
    const key = `${receiver} ${id}`;
    const known = settlements.get(key) ?? { settledAt: [], isUnsettled: false };
    settlements.set(key, known);
    return known;
  };

  for (const line of ordered) {
    const { receiver, at } = line;
    switch (line.kind) {
      case "start": {
        const { id, takeover } = line;
        const run: Run = {
          id,
          receiver,
          takeover,
          startedAt: at,
          effectAt: undefined,
          isLost: false,
          endedAt: undefined,
        };
        byRun.set(`${receiver} ${line.run}`, run);
        byId.set(id, [...(byId.get(id) ?? []), run]);
        break;
      }
      case "effect":
      case "lost":
      case "end":
      case "failed": {
        const run = byRun.get(`${receiver} ${line.run}`);
        if (run === undefined) break;
        if (line.kind === "effect") run.effectAt ??= at;
        else if (line.kind === "lost") run.isLost = true;
        else run.endedAt = at;
        break;
      }
      case "settled":
        settlementOf(receiver, line.id).settledAt.push(at);
        break;
      case "unsettled":
        settlementOf(receiver, line.id).isUnsettled = true;
        break;
      case "stall":
        stalls.set(receiver, [...(stalls.get(receiver) ?? []), { from: at - line.ms, to: at }]);
        break;
      case "stuck":
      case "replayed":
      case "crash":
        break;
    }
  }
  return {
    /** Runs by delivery id, in the order of their starts. */
    byId: byId as ReadonlyMap<string, readonly Run[]>,
    settlementOf,
    /** Times at which a receiver noticed a pause. */
    stallsOf: (receiver: number) => stalls.get(receiver) ?? [],
  };
}
