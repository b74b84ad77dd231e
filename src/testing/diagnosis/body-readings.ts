import { bodyCharsets } from "./body-charsets.js";
import { bodyCodings } from "./body-codings.js";
import { bodyEdits } from "./body-edits.js";
import { bodyListings } from "./body-listings.js";
import { bodyQuotings } from "./body-quotings.js";
import { bodyWrappings } from "./body-wrappings.js";
import type { BodyReading, CapturedBody } from "./captured-body.js";
import type { Clue } from "./finding.js";
import { jsonSpellings } from "./json-spellings.js";
import type { SearchBudget } from "./search-budget.js";

/** A body to try, and what has to be assumed for it. */
export interface TriedBody {
  readonly body: Uint8Array;
  readonly clues: readonly Clue[];
}

const FAMILIES: readonly ((captured: CapturedBody) => Iterable<BodyReading>)[] = [
  bodyEdits,
  bodyCodings,
  bodyListings,
  bodyQuotings,
  bodyWrappings,
  bodyCharsets,
];
/** What looking through a body for one family costs, in bytes hashed for each of its own. */
const FAMILY_COST = 8;

/** The body as it was captured. An object that a parser made has been written anew already. */
export function capturedReading({ bytes, isParsed }: CapturedBody): TriedBody {
  if (!isParsed) return { body: bytes, clues: [] };
  const message = "The body is what a parser made of it; written anew it gives the signature.";
  return { body: bytes, clues: [{ code: "body_parsed", message }] };
}

/** The bodies that may have been signed in place of the captured one, likely ones first. */
export function* otherBodies(captured: CapturedBody, budget: SearchBudget): Generator<TriedBody> {
  const { bytes, text } = captured;
  // Of an empty body nothing is left that could be spelled otherwise.
  if (bytes.length === 0) return;
  for (const family of FAMILIES) {
    if (!budget.spend(FAMILY_COST * bytes.length)) return;
    for (const { body, code, message } of family(captured)) {
      yield { body, clues: [{ code, message, ...differenceOf(bytes, body) }] };
    }
  }
  if (text === undefined) return;
  for (const { text: spelled, clue } of jsonSpellings(text.replace(/^\uFEFF/, ""), budget)) {
    const body = Buffer.from(spelled, "utf8");
    yield { body, clues: [{ ...clue, ...differenceOf(bytes, body) }] };
  }
}

/** Where two bodies part, and their lengths. */
function differenceOf(captured: Uint8Array, signed: Uint8Array) {
  const shorter = Math.min(captured.length, signed.length);
  let offsetBytes = 0;
  while (offsetBytes < shorter && captured[offsetBytes] === signed[offsetBytes]) offsetBytes++;
  return { offsetBytes, capturedBytes: captured.length, expectedBytes: signed.length };
}
