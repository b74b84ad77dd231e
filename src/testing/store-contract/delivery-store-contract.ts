import { ConfigurationError } from "../../configuration-error.js";
import { integerOption } from "../../integer-option.js";
import { refuseUnknownOptions } from "../../known-options.js";
import { completionRules } from "./completion-rules.js";
import type { ContractCase } from "./contract-case.js";
import { keyRules } from "./key-rules.js";
import { leaseRules } from "./lease-rules.js";
import { raceRules } from "./race-rules.js";
import { storeVerbs } from "./store-verbs.js";
import type { MakeStore } from "./store-under-test.js";

/** Options of `deliveryStoreContract`. */
export interface DeliveryStoreContractOptions {
  /**
   * The lease of the cases, of which their other times are multiples. No check comes nearer to its end
   * than 0.3 of it: make it longer where the store is far away and its clock is waited for.
   * Milliseconds, from 100 to 60 000, default 1 000.
   */
  readonly leaseMs?: number | undefined;
}

/**
 * Every rule that a `DeliveryStore` has to keep, as cases for any test runner:
 * `for (const { title, run } of deliveryStoreContract(makeStore)) test(title, run);`. Each case makes a
 * store of its own, and closes it. With `advance` they take milliseconds; where the store's clock is
 * waited for, up to 4 leases each.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function deliveryStoreContract(
  makeStore: MakeStore,
  options: DeliveryStoreContractOptions = {},
): readonly ContractCase[] {
  refuseUnknownOptions(options, ["leaseMs"]);
  if (typeof makeStore !== "function") {
    throw new ConfigurationError("invalid_option", "makeStore has to be a function");
  }
  const leaseMs = integerOption("leaseMs", options.leaseMs, {
    fallback: 1_000,
    min: 100,
    max: 60_000,
  });
  return [...leaseRules, ...completionRules, ...raceRules, ...keyRules].map(
    ({ id, title, check }) => ({
      id,
      title,
      async run() {
        const made = await makeStore();
        try {
          await check(storeVerbs(made, leaseMs));
        } finally {
          await made.close?.();
        }
      },
    }),
  );
}
