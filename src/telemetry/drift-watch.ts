import type { Log } from "../answer/logger.js";
import type { Decoded } from "../records/decoded.js";
import { driftOf } from "../records/drift.js";

/** Bounds the memory and the log, should the gateway name fields after values. */
const MAX_NAMES = 100;
const ADVICE = "Update this library, or read the field with extraFields. This is logged once";

/** Counts what the gateway sends beyond its document, and logs each of it once, by name and without a value. */
export class DriftWatch {
  readonly #log: Log;
  readonly #counts = new Map<string, number>();
  readonly #onDrift: () => void;

  constructor(log: Log, onDrift: () => void) {
    this.#log = log;
    this.#onDrift = onDrift;
  }

  /** Called for each authentic delivery before its handler runs, which may change the record. */
  check(decoded: Decoded, claimedType: string): void {
    const drift = driftOf(decoded, claimedType);
    if (drift.length === 0) return;
    this.#onDrift();
    for (const what of drift) this.#count(what);
  }

  /** How many times each was found, by a sentence that names it. At most 100 of them. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  #count(what: string): void {
    const known = this.#counts.get(what);
    if (known === undefined && this.#counts.size >= MAX_NAMES) return;
    this.#counts.set(what, (known ?? 0) + 1);
    if (known === undefined) this.#log.warn(`schema drift: ${what}. ${ADVICE}`);
  }
}
