import { countCrashes } from "./acknowledgements.js";
import type { History } from "./history.js";
import type { Run, Runs } from "./runs.js";
import type { Violation } from "./violation.js";

/** A redelivery may be answered before the running handler has written its start. */
const NOTICED_WITHIN_MS = 1_000;

/** The limits of a mode: duration of a run, handlers at once, connections. */
export function checkLimits(history: History, runs: Runs): readonly Violation[] {
  const { limits, mostConnections = 0 } = history;
  const { handlersAtOnce = Infinity, heldMs = Infinity, connections = Infinity } = limits;
  const exhausted = history.deliveries.filter(({ end }) => end === "exhausted").length;
  const most = mostAtOnce(runs);
  return [
    ...held(history, runs, heldMs),
    ...crashLoops(history),
    ...beyond("too many at once", most, handlersAtOnce),
    ...beyond("too many connections", mostConnections, connections),
    ...beyond("too many exhausted", exhausted, limits.exhausted ?? Infinity),
  ];
}

/** The largest number of handlers that ran at once in one receiver. */
export function mostAtOnce({ byId }: Runs): number {
  const ofReceiver = new Map<number, { at: number; change: number }[]>();
  for (const { receiver, startedAt, endedAt = Infinity } of [...byId.values()].flat()) {
    const steps = ofReceiver.get(receiver) ?? [];
    steps.push({ at: startedAt, change: 1 }, { at: endedAt, change: -1 });
    ofReceiver.set(receiver, steps);
  }
  return Math.max(0, ...[...ofReceiver.values()].map(mostOf));
}

function mostOf(steps: { at: number; change: number }[]): number {
  // At the same time the end counts first: a run may begin because another has ended.
  steps.sort((a, b) => (a.at === b.at ? a.change - b.change : a.at - b.at));
  let now = 0;
  let most = 0;
  for (const { change } of steps) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

function held({ answers }: History, runs: Runs, heldMs: number): readonly Violation[] {
  return answers.flatMap(({ id, at, outcome }): Violation[] => {
    if (outcome !== "in_flight") return [];
    const holder = latest(runs.byId.get(id) ?? [], at + NOTICED_WITHIN_MS);
    if (holder === undefined || holder.endedAt !== undefined) return [];
    const ms = Math.round(at - holder.startedAt);
    return ms > heldMs ? [{ rule: "held too long", detail: `${id}: for ${ms} ms` }] : [];
  });
}

/** A delivery that was sent again may have several jobs. Each that kills its workers must be dead after so many crashes. */
function crashLoops(history: History): readonly Violation[] {
  const { deadIds, limits } = history;
  const { crashes: most = 0 } = limits;
  return [...countCrashes(history)]
    .filter(([id, count]) => count > most * deadIds.filter((dead) => dead === id).length)
    .map(([id, count]) => ({ rule: "never dead", detail: `${id}: ${count} crashes` }));
}

function latest(runs: readonly Run[], until: number): Run | undefined {
  return runs.findLast(({ startedAt }) => startedAt <= until);
}

function beyond(rule: Violation["rule"], most: number, allowed: number): readonly Violation[] {
  return most > allowed ? [{ rule, detail: `${most}, and ${allowed} are allowed` }] : [];
}
