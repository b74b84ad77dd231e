import type { AuthenticDelivery } from "../../answer/observers.js";
import { readSignedHeaders, type WebhookHeaders } from "../../delivery/headers.js";
import { isWebhookType } from "../../delivery/webhook-type.js";
import type { Outcome } from "../../answer/outcome.js";
import { readBody } from "../../delivery/request.js";
import { isGatewayTime } from "./placeholder-date.js";

/** What of a delivery is needed later, when the request may have been changed or used anew. */
export interface CapturedDelivery {
  /** X-Webhook-Id as it came. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** X-Webhook-Type, or `unknown_type`: an undocumented one may say anything. */
  readonly type: string;
  /** The documented one, as it was written; undefined for any other. */
  readonly contentType: string | undefined;
  /** A copy. */
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  readonly outcome: Outcome;
  readonly status: number;
}

const DOCUMENTED_CONTENT_TYPE = /^application\/json(?: ?; ?charset="?utf-8"?)?$/i;

/** X-Webhook-Type where it is documented. */
export function recordedType(type: string): string {
  return isWebhookType(type) ? type : "unknown_type";
}

/** Copies what is needed; undefined where it can no longer be read. */
export function captureDelivery(delivery: AuthenticDelivery): CapturedDelivery | undefined {
  const { request, id, type, outcome, status } = delivery;
  const timestamp = readSignedHeaders(request.headers)?.timestamp;
  const body = readBody(request.body, Infinity);
  const receivedAt = new Date(delivery.receivedAt);
  if (timestamp === undefined || !("subarray" in body) || !isWritable(receivedAt)) return undefined;
  return {
    id,
    timestamp: Number(timestamp),
    type: recordedType(type),
    contentType: contentTypeOf(request.headers),
    body: new Uint8Array(body),
    receivedAt,
    outcome,
    status,
  };
}

/** Whether a fixture's reader would take the moment back: not one beyond the year 9999. */
function isWritable(date: Date): boolean {
  return !Number.isNaN(date.getTime()) && isGatewayTime(date.toISOString());
}

function contentTypeOf(headers: WebhookHeaders): string | undefined {
  const value = isHeadersObject(headers)
    ? headers.get("content-type")
    : Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  return typeof value === "string" && DOCUMENTED_CONTENT_TYPE.test(value) ? value : undefined;
}

function isHeadersObject(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === "function";
}
