/**
 * Experimental: it may change in a minor version.
 *
 * The stable codes of `CaptureError`.
 *
 * @experimental
 */
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
 * Experimental: it may change in a minor version.
 *
 * A text that is no captured request. The message names what is missing and where, and quotes nothing: a
 * capture holds personal data and a signature.
 *
 * @experimental
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
