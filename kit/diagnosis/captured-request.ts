import { GatewayWebhookError, brandErrors } from "../../src/common/errors.js";

/**
 * A captured request as plain values. Can be passed to `receive` and `diagnoseSignature`.
 *
 * @experimental
 */
export interface CapturedRequest {
  /** HTTP method, if the capture has it. */
  readonly method?: string | undefined;
  /** Headers under their captured names. A list means that the header was sent more than once. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The exact bytes of the body. */
  readonly body: Uint8Array;
  /**
   * What the body may also have been, at most 24, if the form of the capture leaves a doubt: other ends, quotes and
   * escapes. One of them counts only if its signature is good.
   */
  readonly otherBodies?: readonly Uint8Array[] | undefined;
  /** Time of arrival, if the capture has it. */
  readonly receivedAt?: Date | undefined;
}

/** Where the body comes from that a capture lacks. */
const RAW_BODY =
  "put the raw body after the headers and a blank line, or into a file of its own (explain --body <file>); if no log has it, lead deliveries through `identity-gateway-webhooks listen --port 4000 --forward <url of your app>`, which sees it";

/** For a capture that has nothing but the headers. `at`: where they end. */
export function missingBody(at: string): CaptureError {
  const message = `the capture has the headers (up to ${at}) and not the body, which the signature covers: ${RAW_BODY}`;
  return new CaptureError("missing_body", message);
}

/** For a capture that has the body as an object. */
export function parsedBody(at: string): CaptureError {
  const message = `the body at ${at} is a parsed object, which cannot be turned back into its bytes: ${RAW_BODY}`;
  return new CaptureError("invalid_body", message);
}

/**
 * The stable codes of `CaptureError`. A minor version may add members.
 *
 * @experimental
 */
export type CaptureErrorCode =
  "empty_capture" | "not_a_request" | "missing_headers" | "missing_body" | "invalid_body";

/**
 * The text is not a captured request. The message says what is missing and where. It quotes nothing, because a
 * capture holds personal data and a signature.
 *
 * @experimental
 */
export class CaptureError extends GatewayWebhookError<CaptureErrorCode> {
  static {
    brandErrors(this, "CaptureError");
  }
}
