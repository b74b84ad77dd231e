import { setTimeout as wait } from "node:timers/promises";
import { ContractError } from "./contract-case.js";
import type { StoreRule } from "./store-rule.js";
import { storeVerbs } from "./store-verbs.js";
import type { MakeStore } from "./store-under-test.js";

/** No rule looks at a lease that has to hold nearer to its end than this part of it. */
const NEAREST_LOOK = 0.3;
/** How many times as long the next lease is, in which a call may be so much later. */
const LONGER = 4;
const ATTEMPTS = 3;

/**
 * Checks a rule on a store of its own, which is closed after. Where the store's clock is waited for, and
 * the calls took so long beside that a lease may have ended before it was looked at, a timed rule was
 * not broken but missed: it is checked again with a longer lease. No other rule is, so that no store
 * gets a second chance in a race.
 */
export async function runRule(
  rule: StoreRule,
  makeStore: MakeStore,
  leaseMs: number,
  attempt = 1,
): Promise<void> {
  const made = await makeStore();
  const { store, otherClient, advance } = made;
  const startedAt = performance.now();
  let waitedMs = 0;
  const waitFor = (ms: number): Promise<void> => {
    waitedMs += ms;
    return wait(ms);
  };
  try {
    await rule.check(storeVerbs({ store, otherClient, advance: advance ?? waitFor }, leaseMs));
    return;
  } catch (error) {
    const lateMs = performance.now() - startedAt - waitedMs;
    const isMissed =
      rule.isTimed === true &&
      advance === undefined &&
      lateMs >= NEAREST_LOOK * leaseMs &&
      error instanceof ContractError;
    if (!isMissed) throw error;
    if (attempt === ATTEMPTS) {
      const took = `the calls took ${Math.round(lateMs)} ms, which is long beside the lease of ${leaseMs} ms`;
      throw new ContractError(`${error.message} (${took}: give a longer leaseMs)`);
    }
  } finally {
    await made.close?.();
  }
  return runRule(rule, makeStore, LONGER * leaseMs, attempt + 1);
}
