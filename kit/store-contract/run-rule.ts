import { setTimeout as wait } from "node:timers/promises";
import { GatewayWebhookError, hasCode } from "../../src/common/errors.js";
import { checkOption } from "../option-checks.js";
import type { MaybePromise } from "../../src/common/promises.js";
import type { SkippableTest } from "../run-or-skip.js";
import { needsDays, TIMED } from "./contract-rules.js";
import type { ContractCase, ContractResult } from "./contract-case.js";

/** How rules are checked, by the id of their case. */
export type Checks<Id extends string, Verbs> = Readonly<
  Record<Id, (store: Verbs) => Promise<void>>
>;

/** A store of any shape, made for one case. */
interface Made {
  readonly advance?: ((ms: number) => MaybePromise<void>) | undefined;
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** `Under` with a clock that can be moved forward, by waiting if need be. */
export type OnClock<Under extends Made> = Under & {
  readonly advance: (ms: number) => MaybePromise<void>;
  /** False if `advance` waits. */
  readonly movesClock: boolean;
};

/** How the rules of a contract meet a store. */
export interface Contract<Id extends string, Under extends Made, Verbs> {
  /** Each rule as a sentence, by the id of its case. */
  readonly rules: Readonly<Record<Id, string>>;
  readonly checks: Checks<Id, Verbs>;
  readonly makeStore: () => MaybePromise<Under>;
  readonly verbsOf: (made: OnClock<Under>, leaseMs: number) => Verbs;
  readonly leaseMs: number;
  /** Why a rule cannot judge the store; undefined if it can. */
  readonly lacks?: (id: Id, made: Under) => string | undefined;
}

/** The rules check a lease that must hold no later than this part of it before its end. */
const NEAREST_LOOK = 0.3;
const NO_CLOCK =
  "the clock of this store cannot be moved by minutes and days: return advance if the store can be given a clock";
/** Each repetition has a lease this many times as long, so that calls may take that much longer. */
const LONGER = 4;
const LONGEST = LONGER ** 2;

/** @throws ConfigurationError if `makeStore` is no function. */
export function checkMakeStore(makeStore: unknown): void {
  checkOption(typeof makeStore === "function", "makeStore must be a function");
}

/** The rules of a contract as cases for any test runner. */
export function casesOf<Id extends string, Under extends Made, Verbs>(
  contract: Contract<Id, Under, Verbs>,
): readonly ContractCase[] {
  return (Object.keys(contract.rules) as Id[]).map((id) => ({
    id,
    title: contract.rules[id],
    // The default value keeps run.length at 0: a runner may take a parameter for a callback.
    async run(test: SkippableTest = {}) {
      const result = await withLonger("leaseMs", contract.leaseMs, (leaseMs, late) =>
        runRule(id, contract, leaseMs, late),
      );
      if (result.reason !== undefined) test.skip?.(result.reason);
      return result;
    },
  }));
}

/**
 * Tries a rule with times of its own. Slow calls can let a lease or a hold end before the rule looks at it. That proves
 * nothing, so a rule that fails is tried again with longer times, if the attempt says that it was late.
 */
export async function withLonger(
  option: "leaseMs" | "holdMs",
  shortestMs: number,
  attempt: (ms: number, late: { ms: number }) => Promise<ContractResult>,
): Promise<ContractResult> {
  for (let ms = shortestMs; ; ms *= LONGER) {
    const late = { ms: 0 };
    try {
      return await attempt(ms, late);
    } catch (error) {
      if (late.ms < NEAREST_LOOK * ms || !hasCode(error, "contract_broken")) throw error;
      if (ms < shortestMs * LONGEST) continue;
      const took = `the calls took ${Math.round(late.ms)} ms, too long for a ${option.slice(0, -2)} of ${ms} ms`;
      const message = `${error.message} (${took}: give a longer ${option})`;
      throw new GatewayWebhookError("contract_broken", message);
    }
  }
}

/**
 * Checks a rule on a store of its own and closes the store. Without `advance` a timed rule is repeated after slow calls.
 * No other rule is: a store gets no second chance in a race. A rule that needs days is not judged without `advance`.
 */
async function runRule<Id extends string, Under extends Made, Verbs>(
  id: Id,
  contract: Contract<Id, Under, Verbs>,
  leaseMs: number,
  late: { ms: number },
): Promise<ContractResult> {
  const made = await contract.makeStore();
  const { advance } = made;
  const startedAt = performance.now();
  let waitedMs = 0;
  const waitFor = (ms: number): Promise<void> => {
    waitedMs += ms;
    return wait(ms);
  };
  try {
    if (needsDays(id) && advance === undefined) {
      return { result: "not_judged", reason: NO_CLOCK };
    }
    const reason = contract.lacks?.(id, made);
    if (reason !== undefined) return { result: "not_judged", reason };
    const movesClock = advance !== undefined;
    const clock = { advance: advance ?? waitFor, movesClock };
    const verbs = contract.verbsOf({ ...made, ...clock }, leaseMs);
    await contract.checks[id](verbs);
    return { result: "passed" };
  } finally {
    if (TIMED.includes(id) && advance === undefined)
      late.ms = performance.now() - startedAt - waitedMs;
    await made.close?.();
  }
}
