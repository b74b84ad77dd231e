import { decode } from "../../src/records/decode.js";
import { placesOf } from "../../src/records/decoded.js";
import type { Clue } from "./finding.js";
import type { SignatureMatch } from "./signature-search.js";

/**
 * The clues that the match proves, and what the receiver's own decoding finds in the signed body. If the secret
 * is the one of the type in the body, a type header that disagrees with it is the cause.
 */
export async function withRecord(
  match: SignatureMatch | undefined,
  type: string | undefined,
): Promise<{ proven: readonly Clue[]; seen: readonly Clue[] }> {
  if (match === undefined) return { proven: [], seen: [] };
  const { clues, body } = match;
  const decoded = type === undefined ? undefined : await decode(body, type);
  // A body that was changed has its own findings.
  const isBodyChanged = clues.some(({ code }) => code.startsWith("body_"));
  if (decoded?.kind === "unrecognized" && !isBodyChanged) {
    const message = `The signed body is not a documented delivery: ${placesOf(decoded.issues)}.`;
    return { proven: clues, seen: [{ code: "body_unrecognized", message }] };
  }
  if (decoded?.kind !== "type_mismatch") return { proven: clues, seen: [] };
  const message = "X-Webhook-Type names another type than the signed body has.";
  const mistyped: Clue = { code: "type_mismatch", header: "X-Webhook-Type", message };
  const others = clues.filter(({ secretType }) => secretType === undefined);
  return others.length < clues.length
    ? { proven: [...others, mistyped], seen: [] }
    : { proven: clues, seen: [mistyped] };
}
