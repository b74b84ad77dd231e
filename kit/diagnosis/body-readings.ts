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

/** A body to try, with the clues that it assumes. */
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
/** Cost of searching a body for one family of readings, in hashed bytes per byte of the body. */
const FAMILY_COST = 8;

/** The body as captured. A parsed object has already been serialized again. */
export function capturedReading({ bytes, isParsed }: CapturedBody): TriedBody {
  if (!isParsed) return { body: bytes, clues: [] };
  const message = "The body is the result of a parser; serialized again it gives the signature.";
  return { body: bytes, clues: [{ code: "body_parsed", message }] };
}

/** The bodies that may have been signed instead of the captured one, likely ones first. */
export function* otherBodies(captured: CapturedBody, budget: SearchBudget): Generator<TriedBody> {
  const { bytes, text } = captured;
  // An empty body has no other spelling.
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

/** Offset of the first difference of two bodies, and their lengths. */
function differenceOf(captured: Uint8Array, signed: Uint8Array) {
  const shorter = Math.min(captured.length, signed.length);
  let offsetBytes = 0;
  while (offsetBytes < shorter && captured[offsetBytes] === signed[offsetBytes]) offsetBytes++;
  return { offsetBytes, capturedBytes: captured.length, expectedBytes: signed.length };
}
