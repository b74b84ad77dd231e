import type { MaybePromise } from "../../src/common/promises.js";
import type { DeliveryStore } from "../../src/stores/delivery-store.js";
import type { TransactionalStore } from "../../src/stores/transactional-store.js";
import type { SkippableTest } from "../run-or-skip.js";

/**
 * The result of a case that did not fail.
 *
 * @experimental
 */
export interface ContractResult {
  /** `not_judged`: the store cannot be judged by this case: its clock cannot be moved, or it remembers no records. */
  readonly result: "passed" | "not_judged";
  /** With `not_judged`: what is missing. */
  readonly reason?: string | undefined;
}

/**
 * One case of a contract, for any test runner: `test(title, run)`.
 *
 * @experimental
 */
export interface ContractCase {
  /** Stable, so that a report can name the case. */
  readonly id: string;
  /** The rule, as a sentence. */
  readonly title: string;
  /**
   * Runs the case on a store of its own. Rejects with an error with the code `contract_broken` if the store breaks the rule. A
   * case that is not judged calls `test.skip` with the reason, if there is one.
   */
  readonly run: (test?: SkippableTest) => Promise<ContractResult>;
}

/**
 * An empty store, made for one case.
 *
 * @experimental
 */
export interface StoreUnderTest {
  readonly store: DeliveryStore;
  /**
   * A second client of the same data, as another process has it. Default `store`, which is right for a
   * store that lives in one process.
   */
  readonly otherClient?: DeliveryStore | undefined;
  /**
   * Moves the store's own clock forward by `ms` milliseconds, in some cases by weeks. Default: a case waits
   * that long, for an engine whose clock cannot be set, and the cases that need minutes or days are not judged.
   */
  readonly advance?: ((ms: number) => MaybePromise<void>) | undefined;
  /** Closes connections and deletes the data. Called once when the case ends, also if it fails. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/**
 * Makes the store of one case. Called once for each case, and again if a timed case is repeated.
 *
 * @experimental
 */
export type MakeStore = () => MaybePromise<StoreUnderTest>;

/**
 * An empty store and an empty table of the handler, made for one case.
 *
 * @experimental
 */
export interface TransactionalStoreUnderTest<Tx> {
  readonly store: TransactionalStore<Tx>;
  /**
   * A second client of the same data, as another process has it. Default `store`, which is right for a
   * store that lives in one process.
   */
  readonly otherClient?: TransactionalStore<Tx> | undefined;
  /** Writes a row with this text through `tx`, as a handler writes. May write the same text again. */
  readonly write: (tx: Tx, text: string) => unknown;
  /** The texts of all rows that are committed, in any order. Only called while no delivery is processed. */
  readonly written: () => MaybePromise<readonly string[]>;
  /**
   * Moves the store's own clock forward by `ms` milliseconds, in some cases by weeks. Default: a case waits
   * that long, for an engine whose clock cannot be set, and the case that needs days is not judged.
   */
  readonly advance?: ((ms: number) => MaybePromise<void>) | undefined;
  /** Closes connections and deletes the data. Called once when the case ends, also if it fails. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}
