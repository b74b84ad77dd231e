import { deliveryCases } from "./adapter-cases-deliveries.js";
import { handlerCases } from "./adapter-cases-handlers.js";
import { refusalCases } from "./adapter-cases-refusals.js";
import type { AdapterCase } from "./adapter-exchange.js";

export type {
  AdapterAnswer,
  AdapterCase,
  AdapterTarget,
  MountedAdapter,
} from "./adapter-exchange.js";

/**
 * What every adapter has to do, in no test runner's terms: run each case on a target. It rejects where
 * the target does otherwise, and what it resolves to has to be the same for all targets.
 */
export const adapterContract: readonly AdapterCase[] = [
  ...deliveryCases,
  ...refusalCases,
  ...handlerCases,
];
