import type { WebhookRequest } from "../delivery/request.js";
import type { Outcome } from "./outcome.js";
import type { Ending, Trace } from "./trace.js";

/** What `onOutcome` gets: what became of one request. Only `error` may hold personal data. */
export interface OutcomeReport {
  /** What became of the request. */
  readonly outcome: Outcome;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Bytes of the body that were received. */
  readonly bytes: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
  /**
   * X-Webhook-Id, once the signature is good. With `acceptUnsignedDeliveries` it is the id of any
   * request with well-formed headers, as the sender chose it.
   */
  readonly id?: string;
  /** X-Webhook-Type; set when `id` is. It is not signed: for `type_mismatch` it differs from the body's. */
  readonly type?: string;
  /**
   * Index of the secret that matched, from 0, in the list for this webhook type. During a rotation it
   * shows when the old secret is no longer used.
   */
  readonly secretIndex?: number;
  /** True if an earlier run of this delivery ended without a result, so its effect may exist already. */
  readonly takeover?: boolean;
  /**
   * True in the second report of a delivery, which is made when the handler settles after
   * `handler_timeout`, or is given up after `handlerMaxMs`. `outcome` then says how the handler ended, and
   * `durationMs` lasts until then. `status` is still the status that was answered.
   */
  readonly late?: true;
  /** True if the sender hung up before it could be answered, as far as the server can tell. */
  readonly disconnected?: true;
  /** What the handler, the store or the secret function threw. */
  readonly error?: unknown;
}

/**
 * What `onAuthenticDelivery` gets: a request with a good signature, and what became of it. With
 * `acceptUnsignedDeliveries` it is any request with well-formed headers, which anyone can send. The body
 * is personal data.
 */
export interface AuthenticDelivery {
  /** The request as `receive` got it. The signature covers the bytes of its body. */
  readonly request: WebhookRequest;
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type. It is not signed: for `type_mismatch` it differs from the body's. */
  readonly type: string;
  /** The receiver's clock when the answer was made. */
  readonly receivedAt: Date;
  /** What became of the request. */
  readonly outcome: Outcome;
  /** HTTP status of the answer. */
  readonly status: number;
}

/**
 * Makes the report of a request; `isLate` marks the second report of a delivery. A field that is not
 * known is left out, so a key that exists has a value.
 */
export function createReport(
  trace: Trace,
  { outcome, error }: Ending,
  status: number,
  isLate = false,
): OutcomeReport {
  const { startedAt, bytes, id, type, secretIndex, takeover, request } = trace;
  return {
    outcome,
    status,
    bytes,
    durationMs: performance.now() - startedAt,
    ...(id === undefined ? {} : { id }),
    ...(type === undefined ? {} : { type }),
    ...(secretIndex === undefined ? {} : { secretIndex }),
    ...(takeover === undefined ? {} : { takeover }),
    ...(!isLate && hasHungUp(request) ? { disconnected: true } : {}),
    ...(error === undefined ? {} : { error }),
    ...(isLate ? { late: true } : {}),
  };
}

/** Whether the sender has hung up. A server that cannot tell counts as connected. */
function hasHungUp(request: WebhookRequest): boolean {
  try {
    return request.isDisconnected?.() === true;
  } catch {
    return false;
  }
}
