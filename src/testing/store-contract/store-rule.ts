import type { StoreVerbs } from "./store-verbs.js";

/** A rule of the contract, before it is bound to a store. */
export interface StoreRule {
  readonly id: string;
  readonly title: string;
  readonly check: (store: StoreVerbs) => Promise<void>;
}
