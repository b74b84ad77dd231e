import type { MaybePromise } from "../../src/common/promises.js";
import type { ContractCase, TransactionalStoreUnderTest } from "./contract-case.js";
import { needsRecords, TRANSACTION_RULES } from "./contract-rules.js";
import { casesOf, checkMakeStore } from "./run-rule.js";
import { transactionRaceChecks } from "./transaction-race-checks.js";
import { transactionRecordChecks } from "./transaction-race-checks.js";
import { transactionChecks } from "./transaction-checks.js";
import { transactionVerbs } from "./transaction-verbs.js";

/** Unit of the times in the cases. Longer if slow calls come too late. */
const UNIT_MS = 1_000;
const NO_RECORDS =
  "this store does not say that it remembers records: set remembersRecords if it does";

/**
 * Every rule of `TransactionalStore` as cases for any test runner. Each case makes an empty store of its own
 * and closes it. Without `advance` two cases wait for the store's clock, for up to 4 seconds, or more if the
 * store or the machine is slow; the case that needs days is not judged.
 *
 * @throws ConfigurationError if `makeStore` is no function.
 * @example
 * ```ts
 * const cases = transactionalStoreContract(async () => {
 *   const [store, otherClient] = [await connectMyStore(), await connectMyStore()];
 *   return {
 *     store,
 *     otherClient,
 *     write: (tx, text) => tx.query("INSERT INTO rows (text) VALUES ($1)", [text]),
 *     written: async () => (await pool.query("SELECT text FROM rows")).rows.map(({ text }) => text),
 *     close: () => deleteMyData(),
 *   };
 * });
 * for (const { title, run } of cases) test(title, run, 60_000);
 * ```
 */
export function transactionalStoreContract<Tx>(
  makeStore: () => MaybePromise<TransactionalStoreUnderTest<Tx>>,
): readonly ContractCase[] {
  checkMakeStore(makeStore);
  return casesOf({
    rules: TRANSACTION_RULES,
    checks: { ...transactionChecks, ...transactionRaceChecks, ...transactionRecordChecks },
    lacks: (id, { store }) =>
      needsRecords(id) && store.remembersRecords !== true ? NO_RECORDS : undefined,
    makeStore,
    verbsOf: transactionVerbs<Tx>,
    leaseMs: UNIT_MS,
  });
}
