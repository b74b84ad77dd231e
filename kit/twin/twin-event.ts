import { ConfigurationError } from "../../src/common/errors.js";
import { checkOption } from "../option-checks.js";
import { bytesOfBody } from "../../src/delivery/request.js";
import type { Alarm } from "../../src/records/alarm.js";
import type { OnlineDataEvent } from "../../src/records/online-data-event.js";
import type { WebhookType } from "../../src/delivery/headers.js";

/**
 * What the twin delivers: an alarm, an Online Data event, or any body with an `X-Webhook-Type` of your
 * choice.
 *
 * @experimental
 */
export type TwinEvent =
  | { readonly alarm: Alarm }
  | { readonly event: OnlineDataEvent }
  | { readonly type: WebhookType | (string & {}); readonly body: string | Uint8Array };

/** The type and the body of an event's request. */
export interface EventBody {
  readonly type: string;
  readonly body: Uint8Array;
}

/**
 * The type and the body that are sent for an event.
 *
 * @throws ConfigurationError for any other value.
 */
export function bodyOf(event: TwinEvent): EventBody {
  const given: unknown = event;
  const { alarm, event: record, type, body } = Object(given) as Record<string, unknown>;
  if (isRecord(alarm)) return { type: "new_alarm", body: jsonOf({ alarm }) };
  if (isRecord(record)) return { type: "delete_my_data_event", body: jsonOf({ event: record }) };
  const isBody = typeof body === "string" || body instanceof Uint8Array;
  checkOption(typeof type === "string" && isBody, NO_EVENT);
  return { type, body: bytesOfBody(body) };
}

const NO_EVENT =
  "the event must be { alarm }, { event } or { type, body }: a record that JSON can write, or a body that is a string or bytes";

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function jsonOf(envelope: object): Uint8Array {
  try {
    return bytesOfBody(JSON.stringify(envelope));
  } catch {
    // JSON cannot write a bigint or a cycle, so the gateway cannot have sent one.
    throw new ConfigurationError("invalid_option", NO_EVENT);
  }
}
