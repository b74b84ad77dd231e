import { ownOptions } from "../../common/option-checks.js";
import type { Random } from "../random.js";
import { fractionOf } from "./fraction.js";
import { numberOption } from "./number-option.js";

/** How often something goes wrong, each for an attempt. From 0 (default) to 1. */
export interface FaultOptions {
  /** The request is sent once more after its answer. */
  readonly duplicateRate?: number | undefined;
  /** The request is sent twice at once. */
  readonly concurrentCopiesRate?: number | undefined;
  /** The request never arrives. */
  readonly networkErrorRate?: number | undefined;
  /** The request arrives and is handled, and its answer is lost. */
  readonly lostAnswerRate?: number | undefined;
}

/** A fault that the twin makes up; to the gateway both are a network error. */
export type Fault = "request_lost" | "answer_lost";

const FAULT_NAMES: readonly (keyof FaultOptions)[] = [
  "duplicateRate",
  "concurrentCopiesRate",
  "networkErrorRate",
  "lostAnswerRate",
];

/** What goes wrong with one attempt. */
export interface FaultPlan {
  readonly fault: Fault | undefined;
  readonly isDuplicated: boolean;
  readonly isDoubled: boolean;
}

/**
 * Makes the source of faults.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function createFaults(given: FaultOptions = {}): (random: Random) => FaultPlan {
  const options = ownOptions("faults", given, FAULT_NAMES);
  const rate = (name: keyof FaultOptions): number =>
    numberOption(name, options[name], { fallback: 0, min: 0, max: 1 });
  const rates = {
    duplicateRate: rate("duplicateRate"),
    concurrentCopiesRate: rate("concurrentCopiesRate"),
    networkErrorRate: rate("networkErrorRate"),
    lostAnswerRate: rate("lostAnswerRate"),
  };

  return (random) => {
    // All drawn every time: one rate that is changed leaves the other faults of a seed where they were.
    const isDuplicated = fractionOf(random) < rates.duplicateRate;
    const isDoubled = fractionOf(random) < rates.concurrentCopiesRate;
    const isRequestLost = fractionOf(random) < rates.networkErrorRate;
    const isAnswerLost = fractionOf(random) < rates.lostAnswerRate;
    const fault = isRequestLost ? "request_lost" : isAnswerLost ? "answer_lost" : undefined;
    return { fault, isDuplicated, isDoubled };
  };
}
