import { ownOptions } from "../../src/common/option-checks.js";
import type { Random } from "../random.js";
import { numberOption } from "../option-checks.js";

/**
 * Fault injection: how often something goes wrong with an attempt. Each is a rate from 0 (never, the
 * default) to 1 (always).
 *
 * @experimental
 */
export interface FaultOptions {
  /** The request is sent once more after its answer. */
  readonly duplicateRate?: number | undefined;
  /** The request is sent twice at the same time. */
  readonly concurrentDuplicateRate?: number | undefined;
  /** The request never arrives. */
  readonly networkErrorRate?: number | undefined;
  /** The request arrives and is handled, but its answer is lost. */
  readonly lostAnswerRate?: number | undefined;
}

/**
 * A fault that the twin injects. The gateway sees both as a network error.
 *
 * @experimental
 */
export type Fault = "request_lost" | "answer_lost";

/** The rates of all faults. */
export type FaultRates = Readonly<Record<keyof FaultOptions, number>>;

const FAULT_NAMES: readonly (keyof FaultOptions)[] = [
  "duplicateRate",
  "concurrentDuplicateRate",
  "networkErrorRate",
  "lostAnswerRate",
];

/**
 * The rates of all faults, with their defaults.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function checkFaults(given: FaultOptions = {}): FaultRates {
  const options = ownOptions("faults", given, FAULT_NAMES);
  const bounds = { fallback: 0, min: 0, max: 1 };
  return Object.fromEntries(
    FAULT_NAMES.map((name) => [name, numberOption(name, options[name], bounds)]),
  ) as FaultRates;
}

/** Draws what goes wrong with one attempt. */
export function drawFaults(rates: FaultRates, random: Random) {
  // All four are always drawn, so that changing one rate does not move the other faults of a seed.
  const isDuplicated = random.fraction() < rates.duplicateRate;
  const isDoubled = random.fraction() < rates.concurrentDuplicateRate;
  const isRequestLost = random.fraction() < rates.networkErrorRate;
  const isAnswerLost = random.fraction() < rates.lostAnswerRate;
  const lost: Fault | undefined = isAnswerLost ? "answer_lost" : undefined;
  return { fault: isRequestLost ? "request_lost" : lost, isDuplicated, isDoubled } as const;
}
