import { describe, expect, it } from "vitest";
import { check } from "./checker/check.js";
import { DOCUMENTED_STATUSES } from "./checker/documented-answers.js";
import type { Answer, History, Interruption } from "./checker/history.js";
import type { LedgerEvent, LedgerLine } from "./checker/ledger-line.js";
import type { Rule } from "./checker/violation.js";

const ID = "delivery";
const HOLD_MS = 1_000;

/** A line of receiver 1, unless another is given. */
function line(at: number, event: LedgerEvent, receiver = 1): LedgerLine {
  return { at, receiver, ...event };
}

/** A run with its effect 10 ms after its start. */
function run(at: number, receiver = 1, takeover = false): LedgerLine[] {
  const known = { id: ID, run: at === 0 ? 1 : 2 };
  return [
    line(at, { kind: "start", ...known, takeover }, receiver),
    line(at + 10, { kind: "effect", ...known }, receiver),
    line(at + 20, { kind: "end", ...known }, receiver),
  ];
}

function settled(at: number): LedgerLine {
  return line(at, { kind: "settled", id: ID });
}

function answer(at: number, outcome = "handled"): Answer {
  return { id: ID, at, status: DOCUMENTED_STATUSES[outcome] ?? 0, outcome };
}

function history(parts: Partial<History> = {}): History {
  return {
    ...{ guarantee: "lease", holdMs: HOLD_MS, deliveries: [{ id: ID, end: "acknowledged" }] },
    ...{ answers: [answer(30)], forgedAnswers: [], forgedIds: new Set() },
    ...{ lines: [...run(0), settled(25)], interruptions: [], storedIds: [ID] },
    ...{ exactIds: undefined, unfinishedIds: [], deadIds: [], unexpectedExits: [] },
    ...{ limits: {}, mostConnections: undefined, ...parts },
  };
}

function rulesBroken(parts: Partial<History> = {}): Rule[] {
  return check(history(parts)).violations.map(({ rule }) => rule);
}

const KILL: Interruption = { kind: "kill", receiver: 1, from: 30, to: 31 };
/** A second run by another process, after the lease has ended. */
const AGAIN = run(2_000, 2, true);

describe("the checker, in lease mode,", () => {
  it("finds nothing if each delivery was handled once and then acknowledged", () => {
    expect(check(history())).toEqual({
      ...{ violations: [], effects: 1, exhausted: 0, stuck: 0, overloaded: 0, mostAtOnce: 1 },
      ...{ explainedDoubles: 0, unwarnedDoubles: 0, unexplainedDoubles: 0 },
      ...{ explainedLosses: 0, replayed: 0 },
    });
  });

  it("finds an acknowledged delivery without an effect", () => {
    expect(rulesBroken({ lines: [] })).toEqual(["lost"]);
    const failed = [
      line(0, { kind: "start", id: ID, run: 1, takeover: false }),
      line(10, { kind: "failed", id: ID, run: 1 }),
    ];
    expect(rulesBroken({ lines: failed })).toEqual(["lost"]);
  });

  it("finds an acknowledgement before the effect", () => {
    expect(rulesBroken({ answers: [answer(5), answer(30)] })).toEqual(["acknowledged too early"]);
  });

  it("requires no effect for a delivery that was never acknowledged", () => {
    const deliveries = [{ id: ID, end: "exhausted" }] as const;
    const answers = [answer(30, "store_unavailable")];
    expect(check(history({ deliveries, answers, lines: [] }))).toMatchObject({
      ...{ violations: [], exhausted: 1 },
    });
  });

  it("finds a double without a reason", () => {
    const result = check(history({ answers: [], lines: [...run(0), ...AGAIN] }));
    expect(result).toMatchObject({ effects: 2, explainedDoubles: 0, unexplainedDoubles: 1 });
    expect(result.violations.map(({ rule }) => rule)).toEqual(["unexplained double"]);
  });

  it("explains a double by a kill before the success of the first run was stored", () => {
    const parts = { answers: [], lines: [...run(0), ...AGAIN], interruptions: [KILL] };
    expect(check(history(parts))).toMatchObject({ violations: [], explainedDoubles: 1 });
  });

  it("does not explain a double by a kill that came too late, too early, or elsewhere", () => {
    const broken = (interruption: Interruption, extra: LedgerLine[] = []) =>
      rulesBroken({
        ...{ answers: [], lines: [...run(0), ...extra, ...AGAIN] },
        interruptions: [interruption],
      });
    expect(broken({ ...KILL, from: 2_500, to: 2_501 })).toEqual(["unexplained double"]);
    expect(broken({ ...KILL, from: -20, to: -10 })).toEqual(["unexplained double"]);
    expect(broken({ ...KILL, receiver: 2 })).toEqual(["unexplained double"]);
    expect(broken(KILL, [settled(25)])).toEqual(["unexplained double"]);
  });

  it("explains a double by a stop or a stall as long as the lease", () => {
    const broken = (interruptions: Interruption[], extra: LedgerLine[] = []) =>
      rulesBroken({ answers: [], lines: [...run(0), ...extra, ...AGAIN], interruptions });
    const stop: Interruption = { kind: "stop", receiver: 1, from: 15, to: 1_500 };
    expect(broken([stop])).toEqual([]);
    expect(broken([{ ...stop, to: 300 }])).toEqual(["unexplained double"]);
    expect(broken([{ ...stop, receiver: 3 }])).toEqual(["unexplained double"]);
    expect(broken([], [line(1_500, { kind: "stall", ms: 1_400 })])).toEqual([]);
    expect(broken([], [line(1_500, { kind: "stall", ms: 100 })])).toEqual(["unexplained double"]);
  });

  it("explains a double by a lost lease or by a success that could not be stored", () => {
    const broken = (extra: LedgerLine) =>
      rulesBroken({ answers: [], lines: [...run(0), extra, ...AGAIN] });
    expect(broken(line(15, { kind: "lost", id: ID, run: 1 }))).toEqual([]);
    expect(broken(line(15, { kind: "unsettled", id: ID }))).toEqual([]);
    // The line belongs to the second run.
    expect(broken(line(2_015, { kind: "unsettled", id: ID }, 2))).toEqual(["unexplained double"]);
  });

  it("does not explain doubles by faults of the store alone", () => {
    const interruptions: Interruption[] = [{ kind: "store", from: 0, to: 1_900 }];
    const lines = [...run(0), ...AGAIN];
    expect(rulesBroken({ answers: [], lines, interruptions })).toEqual(["unexplained double"]);
  });

  it("explains a double if the store lost what it confirmed while the first run held its claim", () => {
    const broken = (from: number, to: number) =>
      rulesBroken({
        ...{ answers: [], lines: [...run(0), settled(25), ...AGAIN] },
        interruptions: [{ kind: "forgot", from, to }],
      });
    expect(broken(20, 400)).toEqual([]);
    expect(broken(26, 400)).toEqual(["unexplained double"]);
    expect(broken(-2 * HOLD_MS, -HOLD_MS - 1)).toEqual(["unexplained double"]);
  });

  it("compares overlapping runs with the run that began first", () => {
    const stop: Interruption = { kind: "stop", receiver: 1, from: 5, to: 3_000 };
    const lines = [
      line(0, { kind: "start", id: ID, run: 1, takeover: false }),
      ...AGAIN,
      line(3_001, { kind: "effect", id: ID, run: 1 }),
    ];
    expect(rulesBroken({ answers: [], lines, interruptions: [stop] })).toEqual([]);
    expect(rulesBroken({ answers: [], lines, interruptions: [{ ...stop, receiver: 2 }] })).toEqual([
      "unexplained double",
    ]);
  });

  it("explains a double by a process that was paused between its claim and its start", () => {
    const broken = (from: number, to: number, receiver = 2) => {
      const stop: Interruption = { kind: "stop", receiver, from, to };
      const lines = [...run(0), settled(25), ...AGAIN];
      return rulesBroken({ lines, interruptions: [stop] });
    };
    expect(broken(-500, 1_999)).toEqual([]);
    const both = ["unexplained double", "run after completion"];
    expect(broken(-500, 500)).toEqual(both);
    expect(broken(1_900, 1_999)).toEqual(both);
    expect(broken(-500, 1_999, 3)).toEqual(both);
  });

  it("counts explained doubles whose handler was not warned", () => {
    const lines = [...run(0), ...run(2_000, 2, false)];
    const parts = { answers: [], lines, interruptions: [KILL] };
    expect(check(history(parts))).toMatchObject({ explainedDoubles: 1, unwarnedDoubles: 1 });
  });

  it("finds a run after the acknowledgement, even if it had no effect", () => {
    const late = [
      line(2_000, { kind: "start", id: ID, run: 1, takeover: false }, 2),
      line(2_010, { kind: "failed", id: ID, run: 1 }, 2),
    ];
    const lines = [...run(0), settled(25), ...late];
    expect(rulesBroken({ lines })).toEqual(["run after completion"]);
    expect(rulesBroken({ lines: [...lines, line(26, { kind: "unsettled", id: ID })] })).toEqual([]);
  });
});

describe("the checker, in transactional mode,", () => {
  const transactional = { guarantee: "transactional", exactIds: [ID] } as const;

  it("counts rows, not what handlers say that they wrote", () => {
    const parts = {
      ...transactional,
      lines: [...run(0), ...run(2_000, 2)],
      answers: [answer(2_030)],
    };
    expect(check(history(parts))).toMatchObject({ violations: [], effects: 1 });
  });

  it("finds a missing row and a row that exists twice, whatever faults the receivers had", () => {
    expect(rulesBroken({ ...transactional, exactIds: [] })).toEqual(["not exactly once"]);
    const twice = { ...transactional, exactIds: [ID, ID], interruptions: [KILL] };
    expect(rulesBroken(twice)).toEqual(["not exactly once"]);
    expect(rulesBroken({ ...twice, answers: [] })).toEqual(["not exactly once"]);
  });

  it("explains a missing row by a standby that took over without it, if no record is left either", () => {
    const forgot: Interruption[] = [{ kind: "forgot", from: 20, to: 400 }];
    const gone = { exactIds: [], storedIds: [], interruptions: forgot };
    const lost = { ...transactional, ...gone };
    expect(check(history(lost))).toMatchObject({ violations: [], explainedLosses: 1 });
    const job = { ...gone, guarantee: "inbox", lines: [] } as const;
    expect(check(history(job))).toMatchObject({ violations: [], explainedLosses: 1 });
    expect(check(history({ ...job, lines: run(0) })).explainedLosses).toBe(0);
    expect(rulesBroken({ ...lost, storedIds: [ID] })).toEqual(["not exactly once"]);
    expect(rulesBroken({ ...lost, answers: [answer(19), answer(30)] })).toEqual([
      "not exactly once",
    ]);
    expect(rulesBroken({ ...gone, exactIds: undefined, lines: [] })).toEqual(["lost"]);
    // It is sent again, and the new server does not know it.
    expect(
      rulesBroken({ ...transactional, interruptions: forgot, lines: [...run(0), ...AGAIN] }),
    ).toEqual([]);
  });

  it("accepts no run after the acknowledgement", () => {
    const lines = [...run(0), line(26, { kind: "unsettled", id: ID }), ...AGAIN];
    const parts = { ...transactional, lines, interruptions: [KILL] };
    expect(rulesBroken(parts)).toEqual(["run after completion"]);
  });
});

describe("the checker, in inbox mode,", () => {
  const inbox = { guarantee: "inbox", exactIds: [ID] } as const;

  it("accepts an acknowledgement before the work", () => {
    expect(rulesBroken({ ...inbox, answers: [answer(-5)] })).toEqual([]);
  });

  it("finds a job that is missing, exists twice, or is unfinished", () => {
    expect(rulesBroken({ ...inbox, exactIds: [] })).toEqual(["not exactly once"]);
    expect(rulesBroken({ ...inbox, exactIds: [ID, ID] })).toEqual(["not exactly once"]);
    expect(rulesBroken({ ...inbox, unfinishedIds: [ID] })).toEqual(["unfinished"]);
  });

  it("finds a job without an effect", () => {
    expect(rulesBroken({ ...inbox, lines: [] })).toEqual(["lost"]);
  });

  it("explains a second run by a store that was down before the result of the first was stored", () => {
    const away: Interruption[] = [{ kind: "store", from: 12, to: 500 }];
    const lines = [...run(0), ...AGAIN];
    expect(rulesBroken({ ...inbox, lines })).toEqual(["unexplained double"]);
    expect(rulesBroken({ ...inbox, lines, interruptions: away })).toEqual([]);
    const before: Interruption[] = [{ kind: "store", from: -800, to: -1 }];
    expect(rulesBroken({ ...inbox, lines, interruptions: before })).toEqual([]);
    const long: Interruption[] = [{ kind: "store", from: -5_000, to: -4_000 }];
    expect(rulesBroken({ ...inbox, lines, interruptions: long })).toEqual(["unexplained double"]);
    const again = run(2_000, 1, true);
    const settledLater = { ...inbox, lines: [...run(0), ...again, settled(2_025)] };
    expect(rulesBroken({ ...settledLater, interruptions: away })).toEqual([]);
    const told = [...lines, settled(25)];
    expect(rulesBroken({ ...inbox, lines: told, interruptions: away })).toEqual([
      "unexplained double",
    ]);
  });
});

describe("the checker, in every mode,", () => {
  it("finds a status that does not belong to its outcome, and an unknown outcome", () => {
    const odd = (one: Partial<Answer>) =>
      rulesBroken({ answers: [answer(30), { ...answer(40), ...one }] });
    expect(odd({ status: 201 })).toEqual(["undocumented answer"]);
    expect(odd({ outcome: "constructor" })).toEqual(["undocumented answer"]);
    expect(odd({ outcome: undefined })).toEqual(["undocumented answer"]);
    expect(odd({ status: 404, outcome: "draining" })).toEqual(["undocumented answer"]);
  });

  it("finds a forgery that reached a handler or the store, or got a wrong answer", () => {
    const forgedIds = new Set(["forged"]);
    const refused: Answer = { id: "forged", at: 5, status: 409, outcome: "signature_mismatch" };
    const start = line(1, { kind: "start", id: "forged", run: 9, takeover: false });
    const forged = (parts: Partial<History>) =>
      rulesBroken({ forgedIds, forgedAnswers: [refused], ...parts });
    expect(forged({})).toEqual([]);
    expect(forged({ lines: [...run(0), start] })).toEqual(["forgery got in"]);
    expect(forged({ storedIds: [ID, "forged"] })).toEqual(["forgery got in"]);
    expect(forged({ exactIds: [ID, "forged"] })).toEqual(["forgery got in"]);
    const answered = (outcome: string, status: number) =>
      forged({ forgedAnswers: [{ ...refused, outcome, status }] });
    expect(answered("handled", 200)).toEqual(["forgery got in"]);
    expect(answered("in_flight", 409)).toEqual(["forgery got in"]);
    expect(answered("store_unavailable", 503)).toEqual(["forgery got in"]);
  });

  it("finds deliveries that the sender gave up or did not finish, and receivers that ended by themselves", () => {
    const ended = (end: "given_up" | "stopped") =>
      rulesBroken({ deliveries: [{ id: ID, end }], answers: [] });
    expect(ended("given_up")).toEqual(["given up"]);
    expect(ended("stopped")).toEqual(["unfinished"]);
    expect(rulesBroken({ unexpectedExits: ["receiver 1"] })).toEqual(["receiver ended"]);
  });
});
