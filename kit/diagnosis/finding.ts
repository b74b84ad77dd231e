import {
  HEADERS,
  type HeaderKey,
  type HeaderName,
  type WebhookType,
} from "../../src/delivery/headers.js";
import { SIGNATURE_FINDINGS, type SignatureFindingCode } from "./finding-codes.js";

/**
 * How certain a finding is. `proven`: with this change undone, a secret gives exactly the signature of the
 * header. `seen`: a fact of the request or the configuration that a receiver refuses or that makes signatures
 * fail. `possible`: what is left when nothing else explains the mismatch.
 *
 * @experimental
 */
export type FindingCertainty = "proven" | "seen" | "possible";

/**
 * Numbers and names that belong to a finding. Never a text of the request and never a secret.
 *
 * @experimental
 */
export interface FindingDetails {
  /** The header that the finding is about. */
  readonly header?: HeaderName;
  /** Index in `secret`, or in the list of the delivery's type. */
  readonly secretIndex?: number;
  /** Index in `otherSecrets`. */
  readonly otherSecretIndex?: number;
  /** The webhook type whose secret it is, if `secret` is given by type and it is not the delivery's. */
  readonly secretType?: WebhookType;
  /** Offset in the captured body, in bytes, of the fault or of the first difference from the signed body. */
  readonly offsetBytes?: number;
  /** How many bytes of the captured body, from that offset, differ from the signed body. 0: some are missing there. */
  readonly differingBytes?: number;
  /** Length of the captured body in bytes. */
  readonly capturedBytes?: number;
  /** Length in bytes of the signed body, or the length that Content-Length declares. */
  readonly expectedBytes?: number;
  /** Timestamp minus clock, in milliseconds: negative means that the timestamp is in the past. */
  readonly skewMs?: number;
}

/**
 * One cause, in words that quote nothing of the request.
 *
 * @experimental
 */
export interface SignatureFinding extends FindingDetails {
  /** The name of the cause, for code that branches on it. */
  readonly code: SignatureFindingCode;
  readonly certainty: FindingCertainty;
  /** What was found. */
  readonly message: string;
  /** How to fix it. */
  readonly fix: string;
}

/** An assumed cause. It becomes a proven finding when the signature matches under it. */
export interface Clue extends FindingDetails {
  readonly code: SignatureFindingCode;
  readonly message: string;
}

/** The findings for clues that are equally certain. */
export function findingsOf(
  clues: readonly Clue[],
  certainty: FindingCertainty,
): readonly SignatureFinding[] {
  return clues.map((clue) => ({ ...clue, certainty, fix: SIGNATURE_FINDINGS[clue.code] }));
}

/** A clue about a header. `what` continues the sentence that begins with its name. */
export function headerClue(code: SignatureFindingCode, key: HeaderKey, what: string): Clue {
  const header = HEADERS[key].name;
  return { code, header, message: `${header} ${what}.` };
}
