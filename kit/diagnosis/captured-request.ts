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
  /** Time of arrival, if the capture has it. */
  readonly receivedAt?: Date | undefined;
}

/** A request in a capture. The body is a function where reading it may fail, since it may be given by itself. */
export interface FoundRequest extends Omit<CapturedRequest, "body"> {
  readonly body: Uint8Array | (() => Uint8Array);
}

/** Where the body comes from that a capture lacks. */
export const RAW_BODY =
  "put the raw body after the headers and a blank line, or into a file of its own (explain --body <file>); if no log has it, lead deliveries through `identity-gateway-webhooks listen --port 4000 --forward <url of your app>`, which sees it";

/** For a capture that has nothing but the headers. */
export const MISSING_BODY = `the capture has the headers and not the body, which the signature covers: ${RAW_BODY}`;

/**
 * The stable codes of `CaptureError`. A minor version may add members.
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
  | "invalid_command"
  | "no_delivery";

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
