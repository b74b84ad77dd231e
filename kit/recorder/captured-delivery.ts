import type { AuthenticDelivery } from "../../src/answer/observers.js";
import {
  readSignedHeaders,
  valuesOf,
  type WebhookHeaders,
} from "../../src/delivery/header-values.js";
import { isWebhookType } from "../../src/delivery/headers.js";
import type { WebhookOutcome } from "../../src/answer/outcome.js";
import { readBody } from "../../src/delivery/request.js";
import { isGatewayTime } from "./placeholders.js";

/** The parts of a delivery that the recorder needs later, when the request may have changed. */
export interface CapturedDelivery {
  /** X-Webhook-Id as received. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** X-Webhook-Type if it is documented, otherwise `unknown_type`: an undocumented type may contain anything. */
  readonly type: string;
  /** Content-Type as received if it is documented; undefined for any other. */
  readonly contentType: string | undefined;
  /** A copy of the bytes. */
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  readonly outcome: WebhookOutcome;
  readonly status: number;
}

const DOCUMENTED_CONTENT_TYPE = /^application\/json(?: ?; ?charset="?utf-8"?)?$/i;

/** X-Webhook-Type if it is documented. */
export function recordedType(type: string): string {
  return isWebhookType(type) ? type : "unknown_type";
}

/** Copies the needed parts; undefined if the request can no longer be read. */
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

/** Whether a fixture can hold the time: the reader accepts years up to 9999. */
function isWritable(date: Date): boolean {
  return !Number.isNaN(date.getTime()) && isGatewayTime(date.toISOString());
}

function contentTypeOf(headers: WebhookHeaders): string | undefined {
  const [value] = valuesOf(headers, "content-type");
  return typeof value === "string" && DOCUMENTED_CONTENT_TYPE.test(value) ? value : undefined;
}
