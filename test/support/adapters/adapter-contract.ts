import { contextCases } from "./adapter-cases-context.js";
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
 * What every adapter must do, without a test runner: run each case on a target. It rejects if the target
 * breaks the requirement. It resolves to the answers, which must be the same for all targets.
 */
export const adapterContract: readonly AdapterCase[] = [
  ...deliveryCases,
  ...refusalCases,
  ...handlerCases,
  ...contextCases,
];
