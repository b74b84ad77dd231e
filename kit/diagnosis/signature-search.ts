import { createHmac } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { capturedReading, otherBodies, type TriedBody } from "./body-readings.js";
import type { CapturedBody } from "./captured-body.js";
import type { Clue } from "./finding.js";
import type { KeyReading } from "./key-readings.js";
import type { MacReading } from "./mac-readings.js";
import type { MovedPrefixes } from "./moved-timestamps.js";
import { SearchBudget } from "./search-budget.js";
import type { SignedPrefix } from "./signed-prefixes.js";

/** All candidates for the parts of a signature. `given` are the captured ones, `other` assume one more change. */
export interface SearchSpace {
  readonly macs: readonly MacReading[];
  readonly keys: { readonly given: readonly KeyReading[]; readonly other: readonly KeyReading[] };
  readonly prefixes: {
    readonly given: readonly SignedPrefix[];
    readonly other: readonly SignedPrefix[];
    readonly moved: MovedPrefixes;
  };
  readonly body: CapturedBody;
}

/** Keys and prefixes that are tried with a body, each with each. */
interface Attempt {
  readonly keys: readonly KeyReading[];
  readonly prefixes: readonly SignedPrefix[];
  readonly tried: TriedBody;
  /** Default: the budget of the search. */
  readonly spent?: SearchBudget;
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

/** Limit of hashed bytes: at most a second on a slow machine, and enough for all variants of a body of 1 KB. */
const MAX_HASHED_BYTES = 640 * 1_048_576;
/** Limit for moved timestamps alone: each costs the whole body again. Enough for all of them and a body of 10 KB. */
const MAX_HASHED_BYTES_OF_MOVED = 160 * 1_048_576;
/** Hashes by digest length. A hash is only tried if the header has a digest of its length. */
const DIGEST_BYTES = { sha1: 20, sha384: 48, sha512: 64 };
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
  const { macs, keys } = space;
  const { moved } = space.prefixes;
  const fits = ({ hash }: SignedPrefix): boolean =>
    macs.some(({ mac }) => hash === "sha256" || mac.length === DIGEST_BYTES[hash]);
  const prefixes = {
    given: space.prefixes.given,
    other: space.prefixes.other.filter((prefix) => fits(prefix)),
  };
  const budget = new SearchBudget(MAX_HASHED_BYTES);
  const movedBudget = new SearchBudget(MAX_HASHED_BYTES_OF_MOVED);
  const captured = capturedReading(space.body);
  let signatures = 0;
  let bodies = 1;
  let movedPrefixes = 0;

  function* oneAssumed(): Generator<Attempt> {
    yield { keys: keys.other, prefixes: prefixes.given, tried: captured };
    yield { keys: keys.given, prefixes: prefixes.other, tried: captured };
    for (const tried of otherBodies(space.body, budget)) {
      bodies++;
      yield { keys: keys.given, prefixes: prefixes.given, tried };
    }
  }

  function* timestampMoved(): Generator<Attempt> {
    for (const [someKeys, somePrefixes] of [
      [keys.given, moved.likely],
      [keys.given, moved.others()],
      [keys.other, moved.likely],
    ] as const) {
      // One prefix with every key, so that a large body leaves the likely ones for every key.
      for (const prefix of somePrefixes) {
        if (movedBudget.isExceeded()) return;
        if (someKeys === keys.given) movedPrefixes++;
        yield { keys: someKeys, prefixes: [prefix], tried: captured, spent: movedBudget };
      }
    }
  }

  function* twoAssumed(): Generator<Attempt> {
    if (budget.isExceeded()) return;
    yield { keys: keys.other, prefixes: prefixes.other, tried: captured };
    // Generated a second time: keeping all of them would fill the memory.
    for (const tried of otherBodies(space.body, budget)) {
      yield { keys: keys.other, prefixes: prefixes.given, tried };
      yield { keys: keys.given, prefixes: prefixes.other, tried };
    }
  }

  const tryOne = (
    key: KeyReading,
    prefix: SignedPrefix,
    { tried, spent = budget }: Attempt,
  ): SignatureMatch | undefined => {
    const { body } = tried;
    const cost = MAC_COST + key.key.length + prefix.text.length + body.length;
    if (!spent.spend(cost)) return undefined;
    signatures++;
    const digest = createHmac(prefix.hash, key.key).update(prefix.text).update(body).digest();
    const found = macs.find(({ mac }) => beginsWith(digest, mac));
    if (found === undefined) return undefined;
    const clues = [...found.clues, ...prefix.clues, ...key.clues, ...tried.clues];
    return { clues, secretIndex: key.secretIndex, timestamp: prefix.timestamp, body };
  };

  const firstMatch = (attempts: Iterable<Attempt>): SignatureMatch | undefined => {
    for (const attempt of attempts) {
      for (const key of attempt.keys) {
        for (const prefix of attempt.prefixes) {
          const match = tryOne(key, prefix, attempt);
          if (match !== undefined) return match;
        }
      }
    }
    return undefined;
  };

  let match: SignatureMatch | undefined;
  const asCaptured = () => [{ keys: keys.given, prefixes: prefixes.given, tried: captured }];
  for (const step of [asCaptured, oneAssumed, timestampMoved, twoAssumed]) {
    if (macs.length === 0) break;
    match = firstMatch(step());
    if (match !== undefined) break;
    // Each step blocks the event loop, so the search yields between steps.
    await setImmediate();
  }
  const counts: SearchCounts = {
    signatures,
    keys: keys.given.length + keys.other.length,
    prefixes: prefixes.given.length + prefixes.other.length + movedPrefixes,
    bodies,
    isComplete: !budget.isExceeded() && !movedBudget.isExceeded(),
  };
  return { match, counts };
}

/** Compares a MAC with the header's prefix. Not in constant time: no request is accepted because of it. */
function beginsWith(digest: Buffer, mac: Uint8Array): boolean {
  return digest.subarray(0, mac.length).equals(mac);
}
