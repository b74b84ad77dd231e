import { typeLabel } from "../../delivery/headers.js";

/**
 * Every attribute that a span may have, with its name in OpenTelemetry. Nothing else is exported: no body,
 * no account id, no signature, no secret and no other header.
 */
export const SPAN_ATTRIBUTES = {
  /** Always `identity_gateway`. */
  system: "messaging.system",
  /** `process` or `send`. */
  operation: "messaging.operation.type",
  /** As `messaging.operation.type`. */
  operationName: "messaging.operation.name",
  /** The name of the queue of a job; `queue` if it is not known at the write. */
  queue: "messaging.destination.name",
  /** The webhook type of a delivery, or `other`. */
  destination: "messaging.destination.template",
  /** X-Webhook-Id. On no metric. */
  id: "messaging.message.id",
  /** Bytes of the body. */
  bytes: "messaging.message.body.size",
  /** What became of the delivery, of the write or of the job. */
  outcome: "gateway_webhook.outcome",
  /** The webhook type, or `other`. */
  type: "gateway_webhook.type",
  /** The documented type of an Online Data event, or `other`. */
  eventType: "gateway_webhook.event_type",
  /** Index of the secret that matched, from 0. */
  secretIndex: "gateway_webhook.secret_index",
  /** True if an earlier run may have had its effect. */
  takeover: "gateway_webhook.takeover",
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  recovered: "gateway_webhook.recovered",
  /** True if the handler ended after `handler_timeout`. */
  late: "gateway_webhook.late",
  /** Seconds that the gateway has been trying. */
  lag: "gateway_webhook.lag",
  /** Which of the gateway's attempts this probably is, from 1; for a job its own attempt. */
  attempt: "gateway_webhook.attempt",
  /** The status that was answered. */
  status: "http.response.status_code",
  /** The outcome, if it is no success. */
  error: "error.type",
} as const;

/** A type as spans name it: anyone who knows a secret may send any, so only documented ones are named. */
export function typeAttribute(type: string | undefined): string {
  return type === undefined ? "other" : typeLabel(type);
}
