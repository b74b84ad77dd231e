import { createHmac } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { capturedReading, otherBodies, type TriedBody } from "./body-readings.js";
import type { CapturedBody } from "./captured-body.js";
import type { Clue } from "./finding.js";
import type { KeyReading } from "./key-readings.js";
import type { MacReading } from "./mac-readings.js";
import { SearchBudget } from "./search-budget.js";
import type { SignedPrefix } from "./signed-prefixes.js";

/** Everything that a signature can be made of. `given` is as captured, `other` assumes one thing more. */
export interface SearchSpace {
  readonly macs: readonly MacReading[];
  readonly keys: { readonly given: readonly KeyReading[]; readonly other: readonly KeyReading[] };
  readonly prefixes: {
    readonly given: readonly SignedPrefix[];
    readonly other: readonly SignedPrefix[];
  };
  readonly body: CapturedBody;
}

/** What gives the signature of the header. */
export interface SignatureMatch {
  /** What had to be assumed for it: none where all is as it should be. */
  readonly clues: readonly Clue[];
  readonly secretIndex: number | undefined;
  /** The signed timestamp's text. */
  readonly timestamp: string | undefined;
  readonly body: Uint8Array;
}

/** How much was tried. */
export interface SearchCounts {
  /** Signatures computed. */
  readonly signatures: number;
  /** Keys: the secrets and their other readings. */
  readonly keys: number;
  /** Beginnings of the signed string: readings of the headers, and other schemes. */
  readonly prefixes: number;
  /** Bodies: the captured one and its other spellings. */
  readonly bodies: number;
  /** False where the body or a secret is so large that the search ended before all was tried. */
  readonly isComplete: boolean;
}

/** Bytes hashed, a second at most on a slow machine; for a body of 1 KB that is more than there is to try. */
const MAX_HASHED_BYTES = 640 * 1_048_576;
/** Another hash is not tried where the header holds no digest of its length. */
const DIGEST_BYTES = { sha1: 20, sha384: 48, sha512: 64 };
/** What a MAC costs beside its bytes, as bytes: 2.5 µs. */
const MAC_COST = 4_096;

/**
 * Looks for what gives the signature: all as captured, then with one thing assumed, then with two. Ends
 * with the budget, so the time is bounded whatever the size. A match is no guess: by chance there is none.
 */
export async function searchSignature(
  space: SearchSpace,
): Promise<{ match: SignatureMatch | undefined; counts: SearchCounts }> {
  const { macs, keys } = space;
  const fits = ({ hash }: SignedPrefix): boolean =>
    macs.some(({ mac }) => hash === "sha256" || mac.length === DIGEST_BYTES[hash]);
  const prefixes = {
    given: space.prefixes.given,
    other: space.prefixes.other.filter((prefix) => fits(prefix)),
  };
  const budget = new SearchBudget(MAX_HASHED_BYTES);
  const captured = capturedReading(space.body);
  let signatures = 0;
  let bodies = 1;

  const tryOne = (key: KeyReading, prefix: SignedPrefix, tried: TriedBody) => {
    const { body } = tried;
    const cost = MAC_COST + key.key.length + prefix.text.length + body.length;
    if (!budget.spend(cost)) return undefined;
    signatures++;
    const digest = createHmac(prefix.hash, key.key).update(prefix.text).update(body).digest();
    const found = macs.find(({ mac }) => beginsWith(digest, mac));
    if (found === undefined) return undefined;
    const clues = [...found.clues, ...prefix.clues, ...key.clues, ...tried.clues];
    return { clues, secretIndex: key.secretIndex, timestamp: prefix.timestamp, body };
  };

  const tryAll = (
    someKeys: readonly KeyReading[],
    somePrefixes: readonly SignedPrefix[],
    tried: TriedBody,
  ): SignatureMatch | undefined => {
    for (const key of someKeys) {
      for (const prefix of somePrefixes) {
        const match = tryOne(key, prefix, tried);
        if (match !== undefined) return match;
      }
    }
    return undefined;
  };

  const oneAssumed = (): SignatureMatch | undefined => {
    const match =
      tryAll(keys.other, prefixes.given, captured) ?? tryAll(keys.given, prefixes.other, captured);
    if (match !== undefined) return match;
    for (const tried of otherBodies(space.body, budget)) {
      bodies++;
      const found = tryAll(keys.given, prefixes.given, tried);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const twoAssumed = (): SignatureMatch | undefined => {
    const match = tryAll(keys.other, prefixes.other, captured);
    if (match !== undefined) return match;
    // Made a second time, as all of them at once would fill the memory.
    for (const tried of otherBodies(space.body, budget)) {
      const found =
        tryAll(keys.other, prefixes.given, tried) ?? tryAll(keys.given, prefixes.other, tried);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  let match: SignatureMatch | undefined;
  if (macs.length > 0) {
    for (const step of [
      () => tryAll(keys.given, prefixes.given, captured),
      oneAssumed,
      twoAssumed,
    ]) {
      match = step();
      if (match !== undefined || budget.isExceeded()) break;
      // Each step computes without a pause, which a program with other work feels.
      await setImmediate();
    }
  }
  const counts: SearchCounts = {
    signatures,
    keys: keys.given.length + keys.other.length,
    prefixes: prefixes.given.length + prefixes.other.length,
    bodies,
    isComplete: !budget.isExceeded(),
  };
  return { match, counts };
}

/** Of equal length but where a header was cut. Not in constant time: nothing is admitted by it. */
function beginsWith(digest: Buffer, mac: Uint8Array): boolean {
  return digest.subarray(0, mac.length).equals(mac);
}
