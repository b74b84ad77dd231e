import { ConfigurationError } from "../../src/common/errors.js";
import type { WebhookRequest } from "../../src/delivery/request.js";
import { decode, recordOf } from "../../src/records/decode.js";
import { placesOf } from "../../src/records/decoded.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { answerOf, type OutcomeAndStatus } from "../plain-receiver.js";
import { headerClue, type Clue } from "./finding.js";
import type { SignatureMatch } from "./signature-search.js";

/**
 * What a receiver answers to a delivery.
 *
 * @experimental
 */
export interface ExpectedAnswer extends OutcomeAndStatus {
  /**
   * What it answers if none of its handlers takes this record. Absent if its handlers make no difference, as for a
   * stale delivery.
   */
  readonly withoutHandler?: OutcomeAndStatus;
}

/** Asks a receiver with these options. Undefined if no receiver can have them. */
export async function expectedAnswer(
  request: WebhookRequest & { readonly body: Uint8Array },
  nowMs: number,
  options: Parameters<typeof answerOf>[2],
): Promise<ExpectedAnswer | undefined> {
  try {
    const answer = await answerOf(request, nowMs, options);
    if (answer.outcome !== "handled") return answer;
    // Handlers by type, without one for the record of this body.
    const { type } = recordOf(request.body) as { type?: unknown };
    const [other = "DATA_DELETED"] = ONLINE_DATA_EVENT_TYPES.filter((one) => one !== type);
    const handlers = { delete_my_data_event: { [other]: () => undefined } };
    return { ...answer, withoutHandler: await answerOf(request, nowMs, { ...options, handlers }) };
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/**
 * The clues that the match proves, and what the receiver's own decoding finds in the signed body. If the secret
 * is the one of the type in the body, a type header that disagrees with it is the cause.
 */
export function withRecord(
  { clues, body }: SignatureMatch,
  type: string | undefined,
): { proven: readonly Clue[]; seen: readonly Clue[] } {
  const decoded = type === undefined ? undefined : decode(body, type);
  // A body that was changed has its own findings.
  const isBodyChanged = clues.some(({ code }) => code.startsWith("body_"));
  if (decoded?.kind === "unrecognized" && !isBodyChanged) {
    const message = `The signed body is not a documented delivery: ${placesOf(decoded.issues)}.`;
    return { proven: clues, seen: [{ code: "body_unrecognized", message }] };
  }
  if (decoded?.kind !== "type_mismatch") return { proven: clues, seen: [] };
  const mistyped = headerClue(
    "type_mismatch",
    "type",
    "names another type than the signed body has",
  );
  const others = clues.filter(({ secretType }) => secretType === undefined);
  return others.length < clues.length
    ? { proven: [...others, mistyped], seen: [] }
    : { proven: clues, seen: [mistyped] };
}
