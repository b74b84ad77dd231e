import { randomInt } from "node:crypto";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { completionChecks } from "./lease-checks.js";
import { STORE_RULES } from "./contract-rules.js";
import type { ContractCase, MakeStore } from "./contract-case.js";
import { keyChecks } from "./key-checks.js";
import { leaseChecks } from "./lease-checks.js";
import { raceChecks } from "./race-checks.js";
import { durationChecks } from "./duration-checks.js";
import { sequenceChecks } from "./sequence-checks.js";
import { storeVerbs } from "./store-verbs.js";
import { casesOf, checkMakeStore } from "./run-rule.js";

/**
 * Options of `deliveryStoreContract`.
 *
 * @experimental
 */
export interface DeliveryStoreContractOptions {
  /**
   * The lease of the cases in milliseconds, from 100 to 60 000, default 1 000. Without `advance`, a timed
   * case whose calls took 0.3 of the lease or more is repeated with a lease 4 and then 16 times as long
   * before it fails.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How much later than its end a lease ends for other owners, as with a `clockSkewMs`. The lease of
   * the cases is at least ten times as long. Milliseconds, from 0 to 60 000, default 0.
   */
  readonly marginMs?: number | undefined;
  /**
   * How many sequences the case `sequences` plays, from 1. Default all 11 968 of four calls and pauses, and without `advance`
   * the 4 096 of four calls, each with the shorter ones that it begins with. Fewer are enough for a slow server.
   */
  readonly sequences?: number | undefined;
  /** Selects them if not all are played. From 0 to 4 294 967 295, default random. An error of the case names it. */
  readonly seed?: number | undefined;
}

const ALL_SEQUENCES = { fallback: 11_968, min: 1, max: 11_968 };
const SEEDS = 4_294_967_296;
/** A lease of this many margins is judged by the same parts of it as one without a margin. */
const MARGINS_IN_LEASE = 10;

/**
 * Every rule of `DeliveryStore` as cases for any test runner. Each case makes an empty store of its own
 * and closes it. With `advance` a case takes milliseconds. Without it a case waits for the store's clock:
 * up to 4 leases, or more if the store or the machine is slow; the cases that need minutes or days are not judged.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @example
 * ```ts
 * const cases = deliveryStoreContract(async () => {
 *   const [store, otherClient] = [await connectMyStore(), await connectMyStore()];
 *   return { store, otherClient, close: () => deleteMyData() };
 * });
 * for (const { title, run } of cases) test(title, run, 60_000);
 * ```
 */
export function deliveryStoreContract(
  makeStore: MakeStore,
  options: DeliveryStoreContractOptions = {},
): readonly ContractCase[] {
  const own = ownOptions("deliveryStoreContract", options, [
    "leaseMs",
    "marginMs",
    "sequences",
    "seed",
  ]);
  checkMakeStore(makeStore);
  const bounds = { fallback: 1_000, min: 100, max: 60_000 };
  const marginMs = integerOption("marginMs", own.marginMs, { fallback: 0, min: 0, max: 60_000 });
  const leaseMs = Math.max(
    integerOption("leaseMs", own.leaseMs, bounds),
    MARGINS_IN_LEASE * marginMs,
  );
  const checks = {
    ...leaseChecks,
    ...completionChecks,
    ...durationChecks,
    ...raceChecks,
    ...keyChecks,
    ...sequenceChecks({
      sequences: integerOption("sequences", own.sequences, ALL_SEQUENCES),
      seed: integerOption("seed", own.seed, { fallback: randomInt(SEEDS), min: 0, max: SEEDS - 1 }),
    }),
  };
  return casesOf({ rules: STORE_RULES, checks, makeStore, verbsOf: storeVerbs, leaseMs });
}
