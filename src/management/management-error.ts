import { escapeUnprintable } from "../answer/log-line.js";
import { GatewayWebhookError, brandErrors } from "../common/errors.js";

/**
 * The stable codes of `ManagementError`, one per cause. A minor version may add codes, so code that branches on
 * them needs a default.
 *
 * - `no_token`: the token function threw, took too long or returned no token.
 * - `unauthorized`: answered 401, also with a renewed token.
 * - `forbidden`, `not_found`, `conflict`, `validation_failed`: answered 403, 404, 409, and 400 or 422.
 * - `throttled`: answered 429, or 409 by a gateway of the legacy format that throttles.
 * - `server_error`: answered 5xx.
 * - `unexpected_answer`: any other status, or a body that is not what the gateway documents.
 * - `incomplete_list`: a list names a next page. The gateway documents none: see `nextPage`.
 * - `network`, `timeout`, `aborted`: no answer arrived.
 * - `secret_required`: an update without the secret could remove it.
 * - `update_not_applied`: the webhook is not as it was sent.
 *
 * @experimental
 */
export type ManagementErrorCode =
  | "no_token"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "validation_failed"
  | "throttled"
  | "server_error"
  | "unexpected_answer"
  | "incomplete_list"
  | "network"
  | "timeout"
  | "aborted"
  | "secret_required"
  | "update_not_applied";

/**
 * One item of the gateway's `error.details`, or of an update that was not applied.
 *
 * @experimental
 */
export interface ErrorDetail {
  /** The field, such as `url`. Empty if the gateway names none. */
  readonly field: string;
  /** What is wrong with it. */
  readonly issue: string;
}

/** What is known of a call that failed. */
export interface ManagementErrorFacts {
  readonly status?: number | undefined;
  readonly gatewayCode?: string | undefined;
  readonly details?: readonly ErrorDetail[] | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** After these errors the gateway may have done what it was asked for. */
const IN_DOUBT: readonly ManagementErrorCode[] = [
  ...(["network", "timeout", "aborted", "server_error", "unexpected_answer"] as const),
];

/** Whether a call that failed may have changed something all the same. */
export function isInDoubt({ code }: ManagementError): boolean {
  return IN_DOUBT.includes(code);
}

/** The same error with a piece of advice. */
export function advised(error: ManagementError, advice: string): ManagementError {
  return new ManagementError(error.code, `${error.message}; ${advice}`, error);
}

/**
 * A call of the gateway's management routes failed. It holds no token and no secret: after a call with a secret, and
 * after `client.request`, only the gateway's code and the names of the fields are shown. It has no `cause`: an error of `fetch` may hold the headers
 * of its request.
 *
 * @experimental
 */
export class ManagementError extends GatewayWebhookError<ManagementErrorCode> {
  static {
    brandErrors(this, "ManagementError");
  }

  /** HTTP status of the answer. Undefined if none arrived. */
  readonly status: number | undefined;
  /**
   * The gateway's own code, such as `VALIDATION_ERROR`. Undefined in its legacy formats, and for another text than
   * capital letters, digits and underscores.
   */
  readonly gatewayCode: string | undefined;
  /** What the gateway says of single fields. Empty if nothing. */
  readonly details: readonly ErrorDetail[];
  /** The delay that the gateway asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ManagementErrorCode,
    message: string,
    { status, gatewayCode, details = [], retryAfterMs }: ManagementErrorFacts = {},
  ) {
    super(code, escapeUnprintable(message));
    this.status = status;
    this.gatewayCode = gatewayCode;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}
