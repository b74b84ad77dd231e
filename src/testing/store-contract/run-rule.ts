import { setTimeout as wait } from "node:timers/promises";
import { ContractError, type ContractResult, type MakeStore } from "./contract-case.js";
import { storeVerbs, type StoreRule } from "./store-verbs.js";

/** The rules check a lease that must hold no later than this part of it before its end. */
const NEAREST_LOOK = 0.3;
const NO_CLOCK =
  "the clock of this store cannot be moved by minutes and days: return advance if the store can be given a clock";
/** Each repetition has a lease this many times as long, so that calls may take that much longer. */
const LONGER = 4;
const ATTEMPTS = 3;

/**
 * Checks a rule on a store of its own and closes the store. Without `advance`, slow calls can let a lease
 * end before a timed rule looks at it. That proves nothing, so the rule is checked again with a longer
 * lease. No other rule is repeated: a store gets no second chance in a race. A rule that needs days is not
 * judged without `advance`.
 */
export async function runRule(
  rule: StoreRule,
  makeStore: MakeStore,
  leaseMs: number,
  attempt = 1,
): Promise<ContractResult> {
  const made = await makeStore();
  const { store, otherClient, advance } = made;
  const startedAt = performance.now();
  let waitedMs = 0;
  const waitFor = (ms: number): Promise<void> => {
    waitedMs += ms;
    return wait(ms);
  };
  try {
    if (rule.needsDays === true && advance === undefined) {
      return { result: "not_judged", reason: NO_CLOCK };
    }
    await rule.check(storeVerbs({ store, otherClient, advance: advance ?? waitFor }, leaseMs));
    return { result: "passed" };
  } catch (error) {
    const lateMs = performance.now() - startedAt - waitedMs;
    const isTooLate =
      rule.isTimed === true &&
      advance === undefined &&
      lateMs >= NEAREST_LOOK * leaseMs &&
      error instanceof ContractError;
    if (!isTooLate) throw error;
    if (attempt === ATTEMPTS) {
      const took = `the calls took ${Math.round(lateMs)} ms, too long for a lease of ${leaseMs} ms`;
      throw new ContractError(`${error.message} (${took}: give a longer leaseMs)`);
    }
  } finally {
    await made.close?.();
  }
  return runRule(rule, makeStore, LONGER * leaseMs, attempt + 1);
}
