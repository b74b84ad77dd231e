import { ConfigurationError } from "../../common/errors.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { completionRules } from "./completion-rules.js";
import type { ContractCase } from "./contract-case.js";
import { keyRules } from "./key-rules.js";
import { leaseRules } from "./lease-rules.js";
import { raceRules } from "./race-rules.js";
import { runRule } from "./run-rule.js";
import type { MakeStore } from "./store-under-test.js";

/** Options of `deliveryStoreContract`. */
export interface DeliveryStoreContractOptions {
  /**
   * The lease of the cases, of which their other times are multiples. Where the store's clock is waited
   * for, a case that looks at a lease before its end, and whose calls took 0.3 of it or more, is tried
   * again with a lease 4 times and then 16 times as long before it fails. Milliseconds, from 100 to
   * 60 000, default 1 000.
   */
  readonly leaseMs?: number | undefined;
}

/**
 * Every rule that a `DeliveryStore` has to keep, as cases for any test runner:
 * `for (const { title, run } of deliveryStoreContract(makeStore)) test(title, run);`. Each case makes a
 * store of its own, and closes it. With `advance` they take milliseconds; where the store's clock is
 * waited for, up to 4 leases each, and more where the store or the machine is slow.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function deliveryStoreContract(
  makeStore: MakeStore,
  options: DeliveryStoreContractOptions = {},
): readonly ContractCase[] {
  const own = ownOptions("deliveryStoreContract", options, ["leaseMs"]);
  if (typeof makeStore !== "function") {
    throw new ConfigurationError("invalid_option", "makeStore has to be a function");
  }
  const leaseMs = integerOption("leaseMs", own.leaseMs, {
    fallback: 1_000,
    min: 100,
    max: 60_000,
  });
  return [...leaseRules, ...completionRules, ...raceRules, ...keyRules].map((rule) => ({
    id: rule.id,
    title: rule.title,
    run: () => runRule(rule, makeStore, leaseMs),
  }));
}
