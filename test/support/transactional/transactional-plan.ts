import type { WebhookResponse } from "../../../src/index.js";
import type { RunPlan, Scheduler } from "../simulation/handler-runs.js";
import type {
  TransactionFault,
  TransactionMistake,
  TransactionPlace,
} from "./transactional-model-database.js";

/** One thing that happens. */
export type TransactionStep =
  | { readonly what: "deliver"; readonly id: string; readonly process: number }
  | { readonly what: "proceed"; readonly tasks: number }
  | { readonly what: "wait"; readonly ms: number }
  | {
      readonly what: "fault";
      readonly place: TransactionPlace;
      readonly fault: TransactionFault;
    }
  /** The connections of a process are cut, and its handlers do not know. */
  | { readonly what: "cut"; readonly process: number }
  | { readonly what: "crash"; readonly process: number };

/** What is to happen, one thing after the other, and how the handler's runs go. */
export interface TransactionPlan {
  readonly steps: readonly TransactionStep[];
  readonly runs: readonly RunPlan[];
}

/** What the simulation needs of its surroundings. */
export interface TransactionWorld {
  /** Fires the timers that are due within so many milliseconds, and returns at once. */
  readonly advance: (ms: number) => void;
  /** Lets tasks finish in an order of its own. fast-check's scheduler is one. */
  readonly scheduler: Scheduler;
  readonly mistake?: TransactionMistake | undefined;
  readonly onResponse?: ((response: WebhookResponse) => void) | undefined;
}
