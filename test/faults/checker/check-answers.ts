import { DOCUMENTED_STATUSES, FORGERY_OUTCOMES, REFUSAL_OUTCOMES } from "./documented-answers.js";
import type { Answer, History } from "./history.js";
import type { Violation } from "./violation.js";

/** Every answer is in the table of outcomes, and no request of the gateway is refused. */
export function checkAnswers({ answers, forgedAnswers }: History): readonly Violation[] {
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
export function checkForgeries(history: History): readonly Violation[] {
  const { forgedIds, forgedAnswers, lines, storedIds, exactIds = [] } = history;
  const found = (where: string) => (id: string) => ({
    rule: "forgery got in" as const,
    detail: `${id}: ${where}`,
  });
  const isForged = (id: string): boolean => forgedIds.has(id);
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
