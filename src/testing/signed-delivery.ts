import { randomUUID } from "node:crypto";
import { ConfigurationError } from "../common/configuration-error.js";
import { ownOptions } from "../common/own-options.js";
import type { Alarm } from "../records/alarm.js";
import type { OnlineDataEvent } from "../records/online-data-event.js";
import { signDelivery } from "../signature/sign-delivery.js";

/** What every signed delivery is made with. */
export interface Signing {
  /** The webhook's secret. */
  readonly secret: string;
  /** X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. Default a random UUID. */
  readonly id?: string | undefined;
  /** X-Webhook-Timestamp: whole Unix seconds, from 0 to 999 999 999 999. Default now. */
  readonly timestamp?: number | undefined;
}

/** A delivery of an alarm. */
export interface AlarmToSign extends Signing {
  readonly alarm: Alarm;
  readonly type?: "new_alarm" | undefined;
  readonly event?: undefined;
  readonly body?: undefined;
}

/** A delivery of an Online Data event. */
export interface EventToSign extends Signing {
  readonly event: OnlineDataEvent;
  readonly type?: "delete_my_data_event" | undefined;
  readonly alarm?: undefined;
  readonly body?: undefined;
}

/** A delivery of any bytes under any X-Webhook-Type, be they what the gateway would send or not. */
export interface BodyToSign extends Signing {
  /** The exact bytes; a string is taken as UTF-8. */
  readonly body: string | Uint8Array;
  /** X-Webhook-Type. Not signed, and sent as it is. */
  readonly type: string;
  readonly alarm?: undefined;
  readonly event?: undefined;
}

/** What is to be delivered: one of `alarm`, `event`, and `body` with its `type`. */
export type SignedDeliveryOptions = AlarmToSign | EventToSign | BodyToSign;

/** The headers of every delivery (GATEWAY.md, "Events"). A type, so that it is also a plain record. */
export type SignedDeliveryHeaders = {
  readonly "Content-Type": "application/json";
  readonly "X-Webhook-Type": string;
  readonly "X-Webhook-Id": string;
  readonly "X-Webhook-Timestamp": string;
  readonly "X-Webhook-Signature": string;
};

/** A request as the gateway sends it. */
export interface SignedDelivery {
  readonly method: "POST";
  readonly headers: SignedDeliveryHeaders;
  /** Text; bytes alone where a `body` was given that is no UTF-8. */
  readonly body: string | Buffer<ArrayBuffer>;
}

const OPTIONS = ["type", "alarm", "event", "body", "secret", "id", "timestamp"];

/**
 * A delivery, signed as the gateway does it (GATEWAY.md, "Authentication", rule 7). It can be handed on
 * as it is: `receiver.receive(delivery)`, `fetch(url, delivery)`, and with supertest
 * `.post(path).set(delivery.headers).send(delivery.body)`, which for bytes that are no UTF-8 needs
 * `.serialize((bytes) => bytes)` too, as supertest would write them as JSON.
 *
 * ```ts
 * const delivery = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
 * const { outcome } = await receiver.receive(delivery); // "handled"
 * ```
 *
 * Rejects with a `ConfigurationError` where there is none or more than one of `alarm`, `event` and
 * `body`, where `type` is missing beside a body or is not that of the record, for an unknown option and
 * for a secret that cannot be one; and with a `RangeError` for an id or a timestamp beyond the grammar.
 */
export async function signedDelivery(given: SignedDeliveryOptions): Promise<SignedDelivery> {
  const options = ownOptions("signedDelivery", given, OPTIONS);
  const { type, body } = contentOf(options);
  const timestamp = options.timestamp ?? Math.floor(Date.now() / 1000);
  const { secret, id = randomUUID() } = options;
  return {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Webhook-Type": type,
      "X-Webhook-Id": id,
      "X-Webhook-Timestamp": String(timestamp),
      "X-Webhook-Signature": await signDelivery({ secret, id, timestamp, body }),
    },
    body,
  };
}

function contentOf(
  options: SignedDeliveryOptions,
): Pick<SignedDelivery, "body"> & { type: string } {
  const { alarm, event, body, type } = options;
  if ([alarm, event, body].filter((content) => content !== undefined).length !== 1) {
    throw new ConfigurationError("invalid_options", "give one of alarm, event and body");
  }
  if (alarm !== undefined) return { type: own("new_alarm", type), body: JSON.stringify({ alarm }) };
  if (event !== undefined) {
    return { type: own("delete_my_data_event", type), body: JSON.stringify({ event }) };
  }
  if (typeof (type as unknown) !== "string") {
    throw new ConfigurationError("invalid_option", "type has to be given beside a body");
  }
  return { type, body: typeof body === "string" ? body : textOrBytes(body) };
}

/** Text where it gives the same bytes, since supertest sends text as it is. A copy: it has been signed. */
function textOrBytes(body: Uint8Array): string | Buffer<ArrayBuffer> {
  const bytes = Buffer.from(body);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

/** The type of a record's delivery; another beside it is a mistake, or wants to be sent as a body. */
function own<T extends string>(type: T, given: string | undefined): T {
  if (given === undefined || given === type) return type;
  throw new ConfigurationError(
    "invalid_option",
    `type has to be ${type} here; to send another, give the JSON as body`,
  );
}
