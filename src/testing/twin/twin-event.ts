import { ConfigurationError } from "../../configuration-error.js";
import { bytesOfBody } from "../../request.js";
import type { Alarm, OnlineDataEvent } from "../../schemas.js";
import type { WebhookType } from "../../webhook-type.js";

/**
 * What happened at the gateway: an alarm, an Online Data event, or any body under a type of your
 * choice.
 */
export type TwinEvent =
  | { readonly alarm: Alarm }
  | { readonly event: OnlineDataEvent }
  | { readonly type: WebhookType | (string & {}); readonly body: string | Uint8Array };

/** An event as it is sent. */
export interface EventBody {
  readonly type: string;
  readonly body: Uint8Array;
}

/** @throws ConfigurationError for what is none of the three. */
export function bodyOf(event: TwinEvent): EventBody {
  if ("alarm" in event) {
    return { type: "new_alarm", body: bytesOfBody(JSON.stringify({ alarm: event.alarm })) };
  }
  if ("event" in event) {
    const body = JSON.stringify({ event: event.event });
    return { type: "delete_my_data_event", body: bytesOfBody(body) };
  }
  if (typeof event.type !== "string" || !isBody(event.body)) {
    throw new ConfigurationError(
      "invalid_option",
      "what is delivered has to be { alarm }, { event } or { type, body }, the body a string or bytes",
    );
  }
  return { type: event.type, body: bytesOfBody(event.body) };
}

function isBody(body: unknown): boolean {
  return typeof body === "string" || body instanceof Uint8Array;
}
