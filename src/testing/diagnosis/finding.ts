import { FINDING_CODES, type FindingCode } from "./finding-codes.js";

/**
 * How sure a finding is. `proven`: with this one undone, a secret gives the very signature of the header.
 * `seen`: a fact of the request or the configuration that a receiver refuses, or that spoils a signature.
 * `possible`: what is left when nothing else explains it.
 */
export type FindingCertainty = "proven" | "seen" | "possible";

/** Numbers and names that belong to a finding. Never a text of the request, never a secret. */
export interface FindingDetails {
  /** The header concerned. */
  readonly header?: DeliveryHeaderName;
  /** Place in `secret`. */
  readonly secretIndex?: number;
  /** Place in `otherSecrets`. */
  readonly otherSecretIndex?: number;
  /** Byte of the captured body at which it begins to differ from the signed one, or at which the fault is. */
  readonly offsetBytes?: number;
  /** Length of the captured body. */
  readonly capturedBytes?: number;
  /** Length of the body that was signed, or that Content-Length declares. */
  readonly expectedBytes?: number;
  /** How far the timestamp is from the clock, in milliseconds: negative is behind the clock. */
  readonly skewMs?: number;
}

/** The headers of a delivery (GATEWAY.md, "Events"). */
export type DeliveryHeaderName =
  "X-Webhook-Id" | "X-Webhook-Timestamp" | "X-Webhook-Type" | "X-Webhook-Signature";

/** One cause, in words that hold nothing of the request. */
export interface Finding extends FindingDetails {
  /** Stable, so that code can branch on it. */
  readonly code: FindingCode;
  readonly certainty: FindingCertainty;
  /** What was found. */
  readonly message: string;
  /** How to mend it. */
  readonly mend: string;
}

/** A cause that is assumed, and becomes a proven finding where the signature matches under it. */
export interface Clue extends FindingDetails {
  readonly code: FindingCode;
  readonly message: string;
}

/** Makes a finding of a clue. */
export function findingOf(clue: Clue, certainty: FindingCertainty): Finding {
  const { code, message, ...details } = clue;
  return { code, certainty, message, mend: FINDING_CODES[code], ...details };
}
