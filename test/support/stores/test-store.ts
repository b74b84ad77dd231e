import { it } from "vitest";
import {
  deliveryStoreContract,
  type DeliveryStoreContractOptions,
} from "../../../kit/store-contract/delivery-store-contract.js";
import type { StoreUnderTest } from "../../../kit/store-contract/contract-case.js";
import type { MaybePromise } from "../../../src/common/promises.js";
import {
  needsDays,
  storeCases,
  storeContract,
  type Ability,
  type StoreCase,
  type StorePlace,
} from "./store-cases.js";

/** How the cases run on an engine. */
interface TestOptions extends DeliveryStoreContractOptions {
  /** What the engine can do beyond the contract. */
  readonly abilities?: readonly Ability[];
  /** Without the case of many keys, which takes longest. */
  readonly isShort?: boolean;
}

const isLong = ({ title }: StoreCase): boolean => title.startsWith("10 000 keys");

/** Runs a case of a contract. */
export async function runCase({ run }: { readonly run: () => Promise<unknown> }): Promise<void> {
  await run();
}

/** Cases that wait for the engine's clock run together. The long one would let them miss their deadlines. */
function testTogether(cases: readonly StoreCase[], isShort: boolean): void {
  it.concurrent.each(cases.filter((one) => !isLong(one)))("$title", runCase);
  if (!isShort) it.each(cases.filter(isLong))("$title", runCase);
}

/** The contract and the cases of every store, on an engine whose rows can be moved into the past. */
export function testStoreContract(
  makePlace: () => MaybePromise<StorePlace>,
  { abilities = [], isShort = false, ...options }: TestOptions,
): void {
  const cases = storeContract(makePlace, options);
  const isMoved = ({ id }: { id: string }) => needsDays({ id }) || id === "sequences";
  it.each([...storeCases(makePlace, abilities), ...cases.filter(isMoved)])("$title", runCase);
  testTogether(
    cases.filter((one) => !isMoved(one)),
    isShort,
  );
}

/** The contract on an engine of which neither the clock nor the rows can be moved. */
export function testStoreInTime(
  makeStore: () => MaybePromise<StoreUnderTest>,
  { isShort = false, ...options }: Omit<TestOptions, "abilities">,
): void {
  const cases = deliveryStoreContract(makeStore, options);
  testTogether(
    cases.filter((one) => !needsDays(one)),
    isShort,
  );
}
