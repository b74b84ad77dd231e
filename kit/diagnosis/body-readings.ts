import { BODY_CHARSETS } from "./body-charsets.js";
import { BODY_CODINGS } from "./body-codings.js";
import { BODY_EDITS } from "./body-edits.js";
import { BODY_LISTINGS } from "./body-listings.js";
import { BODY_QUOTINGS } from "./body-quotings.js";
import { BODY_WRAPPINGS } from "./body-wrappings.js";
import type { CapturedBody } from "./captured-body.js";
import { undo, type Changes } from "./changes.js";
import type { Clue } from "./finding.js";
import { jsonSpellings } from "./json-spellings.js";
import type { SearchBudget } from "./search-budget.js";

/** A body to try, with the clues that it assumes. */
export interface TriedBody {
  readonly body: Uint8Array;
  readonly clues: readonly Clue[];
}

const FAMILIES: readonly Changes<CapturedBody>[] = [
  BODY_EDITS,
  BODY_CODINGS,
  BODY_LISTINGS,
  BODY_QUOTINGS,
  BODY_WRAPPINGS,
  BODY_CHARSETS,
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
  for (const family of [extraBytes(captured), ...FAMILIES]) {
    if (!budget.spend(FAMILY_COST * bytes.length)) return;
    for (const { bytes: body, code, what: message } of undo(family, captured)) {
      yield { body, clues: [{ code, message, ...differenceOf(bytes, body) }] };
    }
  }
  if (text === undefined) return;
  for (const { text: spelled, clue } of jsonSpellings(text.replace(/^\uFEFF/, ""), budget)) {
    const body = Buffer.from(spelled, "utf8");
    yield { body, clues: [{ ...clue, ...differenceOf(bytes, body) }] };
  }
}

/** The message names the length, so it is made for each body. */
function extraBytes({ contentLength = 0 }: CapturedBody): Changes<CapturedBody> {
  const message = `The captured body continues after the ${contentLength} bytes that Content-Length declares and that were signed.`;
  return {
    body_extra_bytes: {
      [message]: ({ bytes, contentLength: declared = bytes.length }) =>
        declared < bytes.length ? bytes.subarray(0, declared) : undefined,
    },
  };
}

/** Where two bodies differ: the offset of the first difference, how many captured bytes differ, and both lengths. */
export function differenceOf(captured: Uint8Array, signed: Uint8Array) {
  const shorter = Math.min(captured.length, signed.length);
  let offsetBytes = 0;
  while (offsetBytes < shorter && captured[offsetBytes] === signed[offsetBytes]) offsetBytes++;
  let same = 0;
  while (same < shorter - offsetBytes && captured.at(-1 - same) === signed.at(-1 - same)) same++;
  return {
    offsetBytes,
    differingBytes: captured.length - offsetBytes - same,
    capturedBytes: captured.length,
    expectedBytes: signed.length,
  };
}
