import type { ContractCase } from "../../../kit/store-contract/contract-case.js";

/** The ids of the cases that fail. */
export async function convictingCases(cases: readonly ContractCase[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { id, run } of cases) await run().catch(() => ids.push(id));
  return ids;
}

/**
 * Whether one case alone convicts. Beside it may stand those that judge less of a store whose clock cannot be moved, or
 * of a slow one: the cases of days, and the sequences.
 */
export function isAlone(id: string, convicting: readonly string[]): boolean {
  const isBeside = (one: string) =>
    one === "sequences" || (one.endsWith("-days") && !id.endsWith("-days"));
  return convicting.includes(id) && convicting.every((one) => one === id || isBeside(one));
}
