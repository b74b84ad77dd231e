import { countCrashes, findForgotten } from "./acknowledgements.js";
import { checkRuns } from "./check-runs.js";
import type { Answer, History } from "./history.js";
import { readRuns, type Run, type Runs } from "./runs.js";
import type { CheckResult, Violation } from "./violation.js";

/** Documented status of each outcome. A second table on purpose: the first one is what is checked. */
const DOCUMENTED_STATUSES: Readonly<Record<string, number>> = {
  handled: 200,
  duplicate: 200,
  discarded: 200,
  unhandled: 200,
  in_flight: 409,
  reachable: 200,
  method_not_allowed: 405,
  malformed: 409,
  unsigned: 409,
  signature_mismatch: 409,
  stale: 409,
  type_mismatch: 409,
  body_too_large: 409,
  body_timeout: 408,
  body_consumed: 503,
  unrecognized: 503,
  handler_failed: 500,
  handler_timeout: 503,
  retry_later: 503,
  overloaded: 503,
  store_unavailable: 503,
  secret_unavailable: 503,
  draining: 503,
  internal_error: 500,
};

/** Outcomes that no request from the gateway may have. */
const REFUSAL_OUTCOMES: readonly string[] = [
  "malformed",
  "unsigned",
  "signature_mismatch",
  "stale",
  "type_mismatch",
  "unrecognized",
];

/** The only outcomes allowed for a well-formed request without a good signature. */
const FORGERY_OUTCOMES: readonly string[] = ["unsigned", "signature_mismatch"];

/** A redelivery may be answered before the running handler has written its start. */
const NOTICED_WITHIN_MS = 1_000;

/** The limits of a mode: duration of a run, handlers at once, connections. */
function checkLimits(history: History, runs: Runs): readonly Violation[] {
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
function mostAtOnce({ byId }: Runs): number {
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

/** Every answer is in the table of outcomes, and no request of the gateway is refused. */
function checkAnswers({ answers, forgedAnswers }: History): readonly Violation[] {
  const refused = answers.filter(({ outcome = "" }) => REFUSAL_OUTCOMES.includes(outcome));
  const undocumented = [...answers, ...forgedAnswers].flatMap(
    ({ id, status, outcome = "none" }): Violation[] => {
      if (Object.hasOwn(DOCUMENTED_STATUSES, outcome) && DOCUMENTED_STATUSES[outcome] === status) {
        return [];
      }
      return [{ rule: "undocumented answer", detail: `${id}: ${status} ${outcome}` }];
    },
  );
  return [
    ...undocumented,
    ...refused.map(({ id, outcome = "" }): Violation => ({
      rule: "genuine refused",
      detail: `${id}: ${outcome}`,
    })),
  ];
}

/** A forgery is refused, reaches no handler, and leaves nothing in the store. */
function checkForgeries(history: History): readonly Violation[] {
  const { forgedIds, forgedAnswers, lines, storedIds, exactIds = [] } = history;
  const found = (where: string) => (id: string) => ({
    rule: "forgery got in" as const,
    detail: `${id}: ${where}`,
  });
  const isForged = (id: string) => forgedIds.has(id);
  const ledgerIds = new Set(lines.flatMap((line) => ("id" in line ? [line.id] : [])));
  return [
    ...[...ledgerIds].filter(isForged).map(found("in the ledger")),
    ...storedIds.filter(isForged).map(found("in the store")),
    ...exactIds.filter(isForged).map(found("an effect")),
    ...forgedAnswers.filter(isTaken).map(({ id, outcome }) => found(`answered ${outcome}`)(id)),
  ];
}

function isTaken({ outcome }: Answer): boolean {
  return outcome === undefined || !FORGERY_OUTCOMES.includes(outcome);
}

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
  const hasEffect = (id: string) =>
    guarantee === "transactional"
      ? exact.has(id)
      : (byId.get(id) ?? []).some(({ effectAt }) => effectAt !== undefined);
  return [...forgottenIds].filter((id) => !hasEffect(id)).length;
}

function isAcknowledged({ status }: { readonly status: number }): boolean {
  return status >= 200 && status <= 299;
}
