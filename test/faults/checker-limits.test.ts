import { describe, expect, it } from "vitest";
import { check } from "./checker/check.js";
import type { Answer, History } from "./checker/history.js";
import type { LedgerLine } from "./checker/ledger-line.js";

const ID = "delivery";

function start(run: number, at: number, id = ID, receiver = 1): LedgerLine {
  return { at, receiver, kind: "start", id, run, takeover: false };
}

function line(
  kind: "effect" | "end" | "failed" | "stuck" | "crash",
  run: number,
  at: number,
  id = ID,
) {
  return { at, receiver: 1, kind, id, run } as const;
}

function answer(at: number, outcome: string, status: number): Answer {
  return { id: ID, at, status, outcome };
}

function rulesBroken(parts: Partial<History>): readonly string[] {
  const history: History = {
    ...{ guarantee: "lease", holdMs: 1_000, deliveries: [{ id: ID, end: "exhausted" }] },
    ...{ answers: [], forgedAnswers: [], forgedIds: new Set(), lines: [], interruptions: [] },
    ...{ storedIds: [], exactIds: undefined, unfinishedIds: [], deadIds: [] },
    ...{ unexpectedExits: [], limits: {}, mostConnections: undefined, ...parts },
  };
  return check(history).violations.map(({ rule }) => rule);
}

describe("the checker", () => {
  it.each([
    ["stale", 409],
    ["signature_mismatch", 409],
    ["malformed", 409],
    ["unrecognized", 503],
  ])("the checker finds a genuine delivery that was answered %s", (outcome, status) => {
    expect(rulesBroken({ answers: [answer(5, outcome, status)] })).toEqual(["genuine refused"]);
  });

  it("the checker accepts the answer overloaded", () => {
    expect(rulesBroken({ answers: [answer(5, "overloaded", 503)] })).toEqual([]);
  });
});

describe("the checker of handlers that never settle", () => {
  const limits = { heldMs: 3_000 };
  const lines = [start(1, 0), line("stuck", 1, 1)];
  const held = (at: number, more: readonly LedgerLine[] = []) =>
    rulesBroken({ limits, lines: [...lines, ...more], answers: [answer(at, "in_flight", 409)] });

  it("the checker finds a redelivery that is in flight for longer than a run may last", () => {
    expect(held(3_001)).toEqual(["held too long"]);
    expect(held(3_000)).toEqual([]);
  });

  it("the checker accepts redeliveries in flight because of a later run, even if it writes its start after their answers", () => {
    expect(held(9_000, [start(2, 8_900)])).toEqual([]);
    expect(held(9_000, [start(2, 9_500)])).toEqual([]);
    expect(held(9_000, [start(2, 10_500)])).toEqual(["held too long"]);
  });

  it("the checker accepts redeliveries in flight after a run that has ended, and in a mode without the limit", () => {
    const answers = [answer(9_000, "in_flight", 409)];
    const ended = [start(1, 0), line("failed", 1, 5)];
    expect(rulesBroken({ limits, lines: ended, answers })).toEqual([]);
    expect(rulesBroken({ lines, answers })).toEqual([]);
  });
});

describe("the checker of a mode's limits", () => {
  const limits = { handlersAtOnce: 1 };

  it("the checker finds too many handlers at the same time in one receiver", () => {
    const first = [start(1, 0), line("end", 1, 20)];
    const second = [start(2, 20, "b"), line("end", 2, 30, "b")];
    expect(rulesBroken({ limits, lines: [...first, ...second] })).toEqual([]);
    expect(rulesBroken({ limits, lines: [...first, start(2, 19, "b")] })).toEqual([
      "too many at once",
    ]);
    expect(rulesBroken({ limits, lines: [...first, start(1, 10, "b", 2)] })).toEqual([]);
  });

  it("the checker finds more deliveries that used all their attempts than the mode allows", () => {
    const deliveries = [{ id: "a", end: "exhausted" }] as const;
    const none = { deliveries, lines: [], answers: [] };
    expect(rulesBroken({ ...none, limits: { exhausted: 0 } })).toEqual(["too many exhausted"]);
    expect(rulesBroken({ ...none, limits: { exhausted: 1 } })).toEqual([]);
  });

  it("the checker finds a job that kills too many processes, or is not dead at the end", () => {
    const lines = [1, 2].flatMap((run) => [start(run, run * 10), line("crash", run, run * 10)]);
    const deadIds = [ID];
    expect(rulesBroken({ lines, deadIds, limits: { crashes: 2 } })).toEqual([]);
    expect(rulesBroken({ lines, deadIds, limits: { crashes: 1 } })).toEqual(["never dead"]);
    expect(rulesBroken({ lines, limits: { crashes: 2 } })).toEqual(["never dead"]);
    const twoJobs = { lines, deadIds: [ID, ID] };
    expect(rulesBroken({ ...twoJobs, limits: { crashes: 1 } })).toEqual([]);
  });

  it("the checker takes no dead job for handled whose handler killed no process", () => {
    const answers = [answer(10, "handled", 200)];
    const lost = { guarantee: "inbox", answers, storedIds: [ID], deadIds: [ID] } as const;
    expect(rulesBroken(lost)).toEqual(["lost"]);
    const lines = [start(1, 20), line("crash", 1, 20)];
    expect(rulesBroken({ ...lost, lines, limits: { crashes: 1 } })).toEqual([]);
  });

  it("the checker finds more connections than the pools may open", () => {
    const connections = { limits: { connections: 60 } };
    expect(rulesBroken({ ...connections, mostConnections: 61 })).toEqual(["too many connections"]);
    expect(rulesBroken({ ...connections, mostConnections: 60 })).toEqual([]);
    expect(rulesBroken(connections)).toEqual([]);
  });
});

describe("the checker of what one process runs", () => {
  const broken = (first: readonly LedgerLine[], again: LedgerLine, more: Partial<History> = {}) => {
    const lines = [
      start(1, 0),
      ...first,
      again,
      { ...line("failed", 2, 9_000), receiver: again.receiver },
    ];
    return rulesBroken({ lines, ...more });
  };
  const handled = [line("effect", 1, 10), line("end", 1, 20)];

  it("the checker finds a second run in the process that handled the first, whatever explains a double", () => {
    const lost = [...handled, { at: 15, receiver: 1, kind: "lost", id: ID, run: 1 } as const];
    expect(broken(lost, start(2, 5_000))).toEqual(["twice in one process"]);
    expect(broken(lost, start(2, 5_000, ID, 2))).toEqual([]);
  });

  it("the checker finds two runs at once in one process, even if the first fails", () => {
    expect(broken([line("failed", 1, 5_001)], start(2, 5_000))).toEqual(["twice in one process"]);
    expect(broken([line("failed", 1, 4_999)], start(2, 5_000))).toEqual([]);
  });

  it("the checker accepts a second run in one process if the store lost what it had confirmed", () => {
    const interruptions = [{ kind: "forgot", from: 20, to: 400 }] as const;
    expect(broken(handled, start(2, 5_000), { interruptions })).toEqual([]);
  });
});
