import type { StoreVerbs } from "./store-verbs.js";

/** A rule of the contract, before it is bound to a store. */
export interface StoreRule {
  readonly id: string;
  readonly title: string;
  /** It looks at something before its time ends, so that calls which take too long miss it. */
  readonly isTimed?: true;
  readonly check: (store: StoreVerbs) => Promise<void>;
}
