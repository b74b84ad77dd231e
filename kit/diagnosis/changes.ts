import type { SignatureFindingCode } from "./finding-codes.js";

type Undone = string | Uint8Array | undefined;
/** How to undo a change: the values that the given one may have been. Text stands for its UTF-8 bytes. */
type Undo<Given> = (given: Given) => Undone | readonly Undone[];

/** What may have happened to a value, by finding code and in words, likely changes first. */
export type Changes<Given> = Readonly<
  Partial<Record<SignatureFindingCode, Readonly<Record<string, Undo<Given>>>>>
>;

/** A value as it may have been, with the change that it assumes. */
export interface Reading {
  readonly bytes: Uint8Array;
  readonly code: SignatureFindingCode;
  readonly what: string;
}

/** The values that the given one may have been. None is empty. */
export function* undo<Given>(changes: Changes<Given>, given: Given): Generator<Reading> {
  for (const [code, ways] of Object.entries(changes)) {
    for (const [what, undoOne] of Object.entries(ways)) {
      for (const undone of [undoOne(given)].flat()) {
        const bytes = typeof undone === "string" ? Buffer.from(undone, "utf8") : undone;
        if (bytes?.length) yield { bytes, code: code as SignatureFindingCode, what };
      }
    }
  }
}
