import type { SignatureFindingCode } from "./finding-codes.js";

type Undone = string | Uint8Array | undefined;

/**
 * What may have happened to a value, by finding code and in words, and how to undo it: the values that it may have
 * been. Likely changes first. Text stands for its UTF-8 bytes.
 */
export type Changes<Given> = Readonly<
  Partial<
    Record<
      SignatureFindingCode,
      Readonly<Record<string, (given: Given) => Undone | readonly Undone[]>>
    >
  >
>;

/** A value as it may have been, with the change that it assumes. */
export interface Reading {
  readonly bytes: Uint8Array;
  readonly code: SignatureFindingCode;
  readonly what: string;
}

/** The values that the given one may have been. */
export function* undo<Given>(changes: Changes<Given>, given: Given): Generator<Reading> {
  for (const [code, ways] of Object.entries(changes)) {
    for (const [what, undoOne] of Object.entries(ways)) {
      for (const undone of [undoOne(given)].flat()) {
        if (undone === undefined) continue;
        const bytes = typeof undone === "string" ? Buffer.from(undone, "utf8") : undone;
        yield { bytes, code: code as SignatureFindingCode, what };
      }
    }
  }
}

/** The text without percent-encoding, with + as a space and as itself. Empty for a broken encoding. */
export function percentDecoded(text: string): readonly string[] {
  try {
    return [decodeURIComponent(text.replaceAll("+", " ")), decodeURIComponent(text)];
  } catch {
    return [];
  }
}

/** The percent-encoded text; undefined for a lone surrogate, which cannot be encoded. */
export function percentEncoded(text: string): string | undefined {
  try {
    return encodeURIComponent(text);
  } catch {
    return undefined;
  }
}
