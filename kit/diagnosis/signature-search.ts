import { createHmac } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { otherBodies, PARSED, type TriedBody } from "./body-readings.js";
import type { CapturedBody } from "./captured-body.js";
import { headerClue, type Clue } from "./finding.js";
import { readMacs, type HeaderReadings, type TextReading } from "./header-readings.js";
import { SearchBudget } from "./search-budget.js";
import type { KeyReading, Keys } from "./secret-keys.js";

/** What was captured, and the keys to try. */
export interface SearchSpace {
  readonly headers: HeaderReadings;
  readonly keys: Keys;
  readonly body: CapturedBody;
  /** Other readings of it, which assume no change. */
  readonly otherBodies: readonly Uint8Array[];
}

/** The parts that give the signature in the header. */
export interface SignatureMatch {
  /** The assumed changes; empty if nothing is wrong. */
  readonly clues: readonly Clue[];
  readonly secretIndex: number | undefined;
  /** Text of the signed timestamp. */
  readonly timestamp: string | undefined;
  readonly body: Uint8Array;
}

/**
 * How many variants were tried.
 *
 * @experimental
 */
export interface SearchCounts {
  /** Number of computed signatures. */
  readonly signatures: number;
  /** Number of keys: the secrets and their other spellings. */
  readonly keys: number;
  /** Number of prefixes of the signed string: readings of the headers, and other schemes. */
  readonly prefixes: number;
  /** Number of bodies: the captured one and its other spellings. */
  readonly bodies: number;
  /** False if the body or a secret is so large that the search ended early. */
  readonly isComplete: boolean;
}

/** Keys and prefixes that are tried with a body. */
type Pairs = readonly (readonly [KeyReading, SignedPrefix])[];

function eachWithEach(keys: readonly KeyReading[], prefixes: readonly SignedPrefix[]): Pairs {
  return prefixes.flatMap((prefix) => keys.map((key) => [key, prefix] as const));
}

/** Limit of hashed bytes: at most a second on a slow machine, and enough for all variants of a body of 1 KB. */
const MAX_HASHED_BYTES = 640 * 1_048_576;
/** Fixed cost of a MAC, in bytes: 2.5 µs. */
const MAC_COST = 4_096;

/**
 * Searches for parts that give the signature: first everything as captured, then with one assumed change, then
 * with two. The budget bounds the time for any size. A match is not a guess: a match by chance is practically
 * impossible.
 */
export async function searchSignature(
  space: SearchSpace,
): Promise<{ match: SignatureMatch | undefined; counts: SearchCounts }> {
  const { headers, keys } = space;
  const macs = readMacs(headers.signature);
  const prefixes = prefixesOf(headers.timestamp, headers.id);
  const changedPrefixes = prefixesOf(headers.timestamp.flatMap(timestampsBefore), headers.id);
  const budget = new SearchBudget(MAX_HASHED_BYTES);
  const captured = [
    { body: space.body.bytes, clues: space.body.isParsed ? [PARSED] : [] },
    ...space.otherBodies.map((body) => ({ body, clues: [] })),
  ];
  let signatures = 0;
  let bodies = 0;

  const asCaptured = () => captured;
  // Generated for each step that tries them: keeping all of them would fill the memory.
  const changed = () => otherBodies(space.body, budget);
  const asGiven = eachWithEach(keys.given, prefixes);
  const oneChanged = [
    ...eachWithEach(keys.other, prefixes),
    ...eachWithEach(keys.given, changedPrefixes),
  ];
  const steps: readonly (readonly [bodies: () => Iterable<TriedBody>, pairs: Pairs])[] = [
    [asCaptured, asGiven],
    [asCaptured, oneChanged],
    [changed, asGiven],
    [asCaptured, eachWithEach(keys.other, changedPrefixes)],
    [changed, oneChanged],
  ];

  function* matchesOf([bodiesOf, pairs]: (typeof steps)[number]): Generator<SignatureMatch> {
    for (const tried of bodiesOf()) {
      if (pairs === asGiven) bodies++;
      for (const [key, prefix] of pairs) {
        const { body } = tried;
        const cost = MAC_COST + key.key.length + prefix.text.length + body.length;
        if (!budget.spend(cost)) continue;
        signatures++;
        const digest = createHmac("sha256", key.key).update(prefix.text).update(body).digest();
        // Not in constant time: no request is accepted because of it.
        const found = macs.find(({ mac }) => digest.subarray(0, mac.length).equals(mac));
        if (found === undefined) continue;
        const clues = [...found.clues, ...prefix.clues, ...key.clues, ...tried.clues];
        yield { clues, secretIndex: key.secretIndex, timestamp: prefix.timestamp, body };
      }
    }
  }

  let match: SignatureMatch | undefined;
  for (const step of macs.length === 0 ? [] : steps) {
    [match] = matchesOf(step);
    if (match !== undefined) break;
    // Each step blocks the event loop, so the search yields between steps.
    await setImmediate();
  }
  const counts: SearchCounts = {
    signatures,
    keys: keys.given.length + keys.other.length,
    prefixes: prefixes.length + changedPrefixes.length,
    bodies,
    isComplete: !budget.isExceeded,
  };
  return { match, counts };
}

/** The signed text before the body. */
interface SignedPrefix {
  readonly text: string;
  /** The signed timestamp. */
  readonly timestamp: string;
  readonly clues: readonly Clue[];
}

/** The gateway's prefixes for every reading of the two headers. */
function prefixesOf(timestamps: readonly TextReading[], ids: readonly TextReading[]) {
  return timestamps.flatMap(({ text, clues }) =>
    ids.map((id) => ({
      text: `v1:${text}:${id.text}:`,
      timestamp: text,
      clues: [...id.clues, ...clues],
    })),
  );
}

/** A number of this size is in milliseconds. */
const MIN_MILLISECONDS = 1e11;

/** The timestamps that may have been signed in another form. */
function timestampsBefore(reading: TextReading): readonly TextReading[] {
  const { text } = reading;
  const number = text === "" ? Number.NaN : Number(text);
  // A date without a zone is read as UTC, whatever the zone of this machine.
  const dates = [`${text}Z`, text].map((one) => Date.parse(one) / 1_000);
  const date = dates.find((seconds) => !Number.isNaN(seconds));
  const isMs = number >= MIN_MILLISECONDS;
  const seconds = Number.isNaN(number) ? date : isMs ? number / 1_000 : number;
  if (seconds === undefined || !Number.isFinite(seconds)) return [];
  const isWhole = /^[0-9]+$/.test(text);
  const what = isWhole
    ? "is in another unit, seconds or milliseconds, than the signed one"
    : "is a date or another form of the whole seconds that were signed";
  const clue = headerClue(isWhole ? "timestamp_unit" : "timestamp_format", "timestamp", what);
  const clues = [...reading.clues, clue];
  const signed = new Set([Math.floor(seconds), Math.round(seconds), 1_000 * seconds].map(String));
  return [...signed].filter((one) => one !== text).map((one) => ({ text: one, clues }));
}
