import { expect, it } from "vitest";
import type { ContractCase } from "../../kit/store-contract/contract-case.js";
import { transactionalStoreContract } from "../../kit/store-contract/transactional-store-contract.js";
import { isAlone } from "../support/testing/convictions.js";
import {
  naiveTransactions,
  TRANSACTION_MISTAKES,
  type TransactionMistake,
  type TransactionVariant,
} from "../support/testing/naive-transactions.js";

function contractOf(change?: TransactionMistake | TransactionVariant): readonly ContractCase[] {
  return transactionalStoreContract(() => {
    let ms = 1_000_000;
    return {
      ...naiveTransactions(() => ms, change),
      advance(by) {
        ms += by;
      },
    };
  });
}

/** The ids of the cases that convict a store. All cases at once: each has a store of its own. */
async function convictingCases(cases: readonly ContractCase[]): Promise<string[]> {
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  return cases.flatMap(({ id }, at) => {
    const result = results[at];
    return result?.status === "fulfilled" && result.value.result === "passed" ? [] : [id];
  });
}

const convictions = new Map<string, Promise<string[]>>();
const convictionsOf = (mistake: string): Promise<string[]> => {
  const known = convictions.get(mistake);
  if (known !== undefined) return known;
  const ids = convictingCases(contractOf(mistake as TransactionMistake));
  convictions.set(mistake, ids);
  return ids;
};

it.concurrent.each(Object.entries(TRANSACTION_MISTAKES))(
  "a transactional store that %s fails the case %s",
  async (mistake, convictedBy) => {
    expect(await convictionsOf(mistake)).toContain(convictedBy);
  },
);

it("every case of the transactional contract is the only one that convicts some wrong store", async () => {
  const all = await Promise.all(Object.keys(TRANSACTION_MISTAKES).map(convictionsOf));
  const ids = contractOf().map(({ id }) => id);
  expect(ids.filter((id) => !all.some((convicting) => isAlone(id, convicting)))).toEqual([]);
});

it.concurrent.each<TransactionVariant | undefined>([
  undefined,
  "waits for what is in flight",
  "refuses what is in flight",
  "has one writer",
  "counts a retention from the last look",
])("a transactional store passes every case if its variant is %s", async (variant) => {
  expect(await convictingCases(contractOf(variant))).toEqual([]);
});

it("each case of the transactional contract has its own id and title, and a run without parameters", () => {
  const cases = contractOf();
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
  expect(cases.map(({ run }) => run.length)).toEqual(cases.map(() => 0));
});
