import type { MaybePromise } from "../../common/promises.js";
import type { DeliveryStore } from "../../stores/delivery-store.js";

/** A store without a key in it, made for one case. */
export interface StoreUnderTest {
  readonly store: DeliveryStore;
  /**
   * Another client of the same data, as a second process has it. Default `store`: right for one that
   * lives in one process.
   */
  readonly otherClient?: DeliveryStore | undefined;
  /**
   * Moves the store's own clock on by `ms` milliseconds. Default: waits as long, for an engine whose
   * clock cannot be set.
   */
  readonly advance?: ((ms: number) => MaybePromise<void>) | undefined;
  /** Ends its connections and removes its data. Called when the case has ended, however it did. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** Makes the store of one case. */
export type MakeStore = () => MaybePromise<StoreUnderTest>;
