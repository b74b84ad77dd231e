import { randomInt } from "node:crypto";
import { checkOption } from "../option-checks.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";

/**
 * The gateway's format of a time: `legacy` is `YYYY-MM-DD HH:MM:SS`, `standardized` is ISO 8601 with `Z`.
 *
 * @experimental
 */
export type DateFormat = "legacy" | "standardized";

/**
 * Options of the samples.
 *
 * @experimental
 */
export interface SampleOptions {
  /**
   * Seed of the generated values: the same seed gives the same record. A whole number from 0 to 4 294 967 295.
   * Default: the values of seed 0, but an alarm with an `id`, and an event with an `occurred_at`, of its own.
   */
  readonly seed?: number | undefined;
  /** Accounts of yours: each record is about one of them. Default: an account that is made up. */
  readonly accountIds?: readonly number[] | undefined;
  /** Format of dates. Default: `legacy` in an alarm, ISO 8601 with an offset in an event. */
  readonly format?: DateFormat | undefined;
}

/**
 * The range of made-up ids of alarms and accounts (docs/test-endpoint.md): far from the ids of the gateway, and small enough
 * for a signed 32-bit column.
 */
const FIRST_ID = 2_000_000_000;
const IDS = 2 ** 31 - FIRST_ID;
/** Seeds below it are left to users and fixtures. */
const FIRST_NEW_SEED = 1_000_000;

let nextSeed = randomInt(FIRST_NEW_SEED, IDS);

/**
 * A seed of its own. In a row, so that no two records of a process have the same id, and from a random place, so that
 * those of two processes hardly ever do.
 */
export function freshSeed(): number {
  const seed = nextSeed;
  nextSeed = seed + 1 < IDS ? seed + 1 : FIRST_NEW_SEED;
  return seed;
}

/** The made-up id of a seed. */
function idOf(seed: number): number {
  return FIRST_ID + (seed % IDS);
}

/** Whether an id is in the range of made-up ids. */
export function isMadeUp(id: number): boolean {
  return id >= FIRST_ID && id < FIRST_ID + IDS;
}

/** Checks the option `accountIds` of samples and of the conformance suite. Throws `ConfigurationError`. */
export function checkAccountIds(given: readonly number[] = []): readonly number[] {
  const isList = (ids: unknown): boolean =>
    Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id) && Number(id) >= 0);
  checkOption(isList(given), "accountIds must be a list of whole numbers from 0 up");
  return given;
}

/** Checks the options. Throws `ConfigurationError`. */
export function checkSampleOptions(maker: string, options: SampleOptions) {
  const own = ownOptions(maker, options, ["seed", "format", "accountIds"]);
  const { format } = own;
  const accountIds = checkAccountIds(own.accountIds);
  const isFormat = [undefined, "legacy", "standardized"].includes(format);
  checkOption(isFormat, 'format must be "legacy" or "standardized"');
  const seed = integerOption("seed", own.seed, { fallback: 0, min: 0, max: 0xffff_ffff });
  const id = idOf(own.seed ?? freshSeed());
  return {
    seed,
    format,
    /** The id of the record: its seed decides it, or it is new. */
    id,
    /** The account of the record: one of the option, otherwise a made-up one. */
    accountOf: (own: number): number => accountIds[id % accountIds.length] ?? idOf(own),
  };
}
