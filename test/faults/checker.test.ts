import { expect, it } from "vitest";
import { check } from "./checker/check.js";
import type { Answer, History, LedgerEvent, LedgerLine } from "./checker/history.js";

const ID = "delivery";

function line(at: number, event: LedgerEvent, receiver = 1): LedgerLine {
  return { at, receiver, ...event };
}

/** A run with its effect, whose completion is stored 25 ms after its start. */
function run(at: number, number = 1, receiver = 1): LedgerLine[] {
  const known = { id: ID, run: number };
  return [
    line(at, { kind: "start", ...known, takeover: false }, receiver),
    line(at + 10, { kind: "effect", ...known }, receiver),
    line(at + 20, { kind: "end", ...known }, receiver),
    line(at + 25, { kind: "settled", id: ID }, receiver),
  ];
}

function answer(at: number, outcome = "handled", status = 200): Answer {
  return { id: ID, at, status, outcome };
}

/** A delivery that was handled once, and then acknowledged. */
const HANDLED_ONCE: History = {
  guarantee: "lease",
  holdMs: 1_000,
  deliveries: [{ id: ID, end: "acknowledged" }],
  answers: [answer(30)],
  forgedAnswers: [],
  forgedIds: new Set(),
  lines: run(0),
  interruptions: [],
  storedIds: [ID],
  exactIds: undefined,
  unfinishedIds: [],
  deadIds: [],
  unexpectedExits: [],
  limits: {},
  mostConnections: undefined,
};

const forgedIds = new Set(["forged"]);
const gotIn = (outcome: string, status: number): Partial<History> => ({
  forgedIds,
  forgedAnswers: [{ id: "forged", at: 5, status, outcome }],
});

/** What no flawed receiver of plan/flawed-receivers.ts shows. These show the other rules, by real processes. */
it.each<[what: string, parts: Partial<History>, broken: readonly string[]]>([
  ["a delivery that was handled once", {}, []],
  [
    "a status of another outcome",
    { answers: [answer(30, "draining", 404)] },
    ["undocumented answer"],
  ],
  [
    "an outcome that no table has",
    { answers: [answer(30, "constructor")] },
    ["undocumented answer"],
  ],
  ["a forged delivery that was refused", gotIn("signature_mismatch", 409), []],
  ["a forged delivery that was handled", gotIn("handled", 200), ["forgery got in"]],
  ["a forged id in the store", { forgedIds, storedIds: [ID, "forged"] }, ["forgery got in"]],
  ["a forged effect", { forgedIds, exactIds: [ID, "forged"] }, ["forgery got in"]],
  ["a final answer", { deliveries: [{ id: ID, end: "given_up" }], answers: [] }, ["given up"]],
  ["a delivery without an end", { deliveries: [{ id: ID, end: "stopped" }] }, ["unfinished"]],
  ["a job without an end", { unfinishedIds: [ID] }, ["unfinished"]],
  [
    "a run by another process after the acknowledgement",
    { lines: [...run(0), ...run(2_000, 2, 2)] },
    ["run after completion", "unexplained double"],
  ],
  [
    "a second run after a kill before the completion was stored",
    {
      lines: [...run(0).slice(0, 3), ...run(2_000, 2, 2)],
      answers: [answer(2_030)],
      interruptions: [{ kind: "kill", receiver: 1, from: 22, to: 23 }],
    },
    [],
  ],
])("the checker of the fault lab judges %s", (_, parts, broken) => {
  const { violations } = check({ ...HANDLED_ONCE, ...parts });
  expect(violations.map(({ rule }) => rule).sort()).toEqual(broken);
});
