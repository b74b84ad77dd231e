/** A request that was captured, as plain values. Takes its place in `receive` and `diagnoseSignature`. */
export interface CapturedRequest {
  /** Where the capture names it. */
  readonly method?: string | undefined;
  /** Names as captured; a list is a header that was given more than once. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The exact bytes. */
  readonly body: Uint8Array;
  /** When it came, where the capture says so. */
  readonly receivedAt?: Date | undefined;
}

/** The stable codes of `CaptureError`. */
export type CaptureErrorCode =
  | "empty_capture"
  | "not_a_request"
  | "invalid_header_line"
  | "missing_headers"
  | "missing_blank_line"
  | "missing_body"
  | "invalid_body"
  | "invalid_json"
  | "no_delivery_in_har";

/**
 * A text that is no captured request. The message names what is missing and where, and quotes nothing: a
 * capture holds personal data and a signature.
 */
export class CaptureError extends Error {
  override readonly name = "CaptureError";

  constructor(
    /** Which part could not be read. Stable, so that code can branch on it. */
    readonly code: CaptureErrorCode,
    message: string,
  ) {
    super(message);
  }
}
