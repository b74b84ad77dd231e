import { ConfigurationError } from "../src/common/errors.js";
import { ownOptions } from "../src/common/option-checks.js";
import { namedHeaders } from "../src/delivery/header-values.js";
import type { WebhookType } from "../src/delivery/headers.js";
import type { Alarm } from "../src/records/alarm.js";
import type { OnlineDataEvent } from "../src/records/online-data-event.js";
import { keyOf } from "../src/signature/secrets.js";
import { signDelivery } from "../src/signature/sign-delivery.js";
import { textOfUtf8 } from "./json-parts.js";
import { checkOption } from "./option-checks.js";
import { madeUpDeliveryId } from "./random.js";

/** The secret that signs the published fixtures. It is public, so never use it for a real webhook. */
export const TEST_SECRET = "whsec_test_0123456789abcdef";

/**
 * The secret of a URL: one for all deliveries, or one for each webhook type that is sent to it.
 *
 * @experimental
 */
export type SenderSecret = string | Readonly<Partial<Record<WebhookType, string>>>;

/** The secret that signs deliveries of a type. Any of them signs a type that no document names. */
export function secretOf(secret: SenderSecret, type: string | undefined): string {
  if (typeof secret === "string") return secret;
  const byType: Readonly<Record<string, string | undefined>> = secret;
  // A type may be the name of what every object inherits, such as `constructor`.
  const own = type !== undefined && Object.hasOwn(byType, type) ? byType[type] : undefined;
  return own ?? Object.values(byType).find((one) => one !== undefined) ?? "";
}

/** Throws `ConfigurationError` unless each of these types has a secret that a receiver takes. */
export function checkSenderSecret(
  secret: SenderSecret,
  types: readonly string[] = Object.keys(secret),
): void {
  if (typeof secret === "string") keyOf(secret);
  else {
    const byType: Readonly<Record<string, unknown>> = secret;
    for (const type of types) keyOf(byType[type] as string, 0, `secret.${type}`);
  }
}

/** Options of `signedDelivery` that every delivery has. */
export interface Signing {
  /** The webhook's secret. */
  readonly secret: string;
  /**
   * X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. Default a new made-up id, which begins with `7e57da7a-`.
   */
  readonly id?: string | undefined;
  /** X-Webhook-Timestamp: whole Unix seconds, from 0 to 999 999 999 999. Default now. */
  readonly timestamp?: number | undefined;
}

/**
 * Options of `signedDelivery` for an alarm.
 *
 * @experimental
 */
export interface AlarmToSign extends Signing {
  /** The alarm to deliver. */
  readonly alarm: Alarm;
  readonly type?: "new_alarm" | undefined;
  readonly event?: undefined;
  readonly body?: undefined;
}

/**
 * Options of `signedDelivery` for an Online Data event.
 *
 * @experimental
 */
export interface EventToSign extends Signing {
  /** The event to deliver. */
  readonly event: OnlineDataEvent;
  readonly type?: "delete_my_data_event" | undefined;
  readonly alarm?: undefined;
  readonly body?: undefined;
}

/**
 * Options of `signedDelivery` for any body with any X-Webhook-Type, also one that the gateway never sends.
 *
 * @experimental
 */
export interface BodyToSign extends Signing {
  /** The exact bytes. A string is encoded as UTF-8. */
  readonly body: string | Uint8Array;
  /** X-Webhook-Type. It is sent unchanged and is not signed. */
  readonly type: string;
  readonly alarm?: undefined;
  readonly event?: undefined;
}

/**
 * Options of `signedDelivery`: one of `alarm`, `event`, or `body` with its `type`.
 *
 * @experimental
 */
export type SignedDeliveryOptions = AlarmToSign | EventToSign | BodyToSign;

/**
 * The headers of a delivery.
 *
 * @experimental
 */
export type SignedDeliveryHeaders = {
  readonly "Content-Type": "application/json";
  readonly "X-Webhook-Type": string;
  readonly "X-Webhook-Id": string;
  readonly "X-Webhook-Timestamp": string;
  readonly "X-Webhook-Signature": string;
};

/** `Buffer<ArrayBuffer>`, which `fetch` takes, for TypeScript before 5.7 too, where `Buffer` is not generic. */
type OwnBuffer = Buffer & { readonly buffer: ArrayBuffer };

/**
 * A signed request, as the gateway sends it.
 *
 * @experimental
 */
export interface SignedDelivery {
  readonly method: "POST";
  readonly headers: SignedDeliveryHeaders;
  /** Text. Bytes if the given `body` is not valid UTF-8. */
  readonly body: string | OwnBuffer;
}

const OPTIONS = ["type", "alarm", "event", "body", "secret", "id", "timestamp"];

/**
 * Makes a request for a delivery, signed as the gateway signs it. Pass it to `receiver.receive(delivery)` or
 * `fetch(url, delivery)`, or with supertest `.post(path).set(delivery.headers).send(delivery.body)`. With a body that is not valid UTF-8 supertest also
 * needs `.serialize((bytes) => bytes)`, since it would send the bytes as JSON.
 *
 * Rejects with a `ConfigurationError` when not exactly one of `alarm`, `event` and `body` is given, when
 * `type` is missing with a body or differs from the record's, and for an unknown option or an invalid secret.
 * Rejects with a `RangeError` for an invalid id or timestamp.
 *
 * @example
 * const delivery = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
 * const { outcome } = await receiver.receive(delivery); // "handled"
 */
export async function signedDelivery(given: SignedDeliveryOptions): Promise<SignedDelivery> {
  const options = ownOptions("signedDelivery", given, OPTIONS);
  const { type, body } = contentOf(options);
  const timestamp = options.timestamp ?? Math.floor(Date.now() / 1000);
  const { secret, id = madeUpDeliveryId() } = options;
  return {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...namedHeaders({
        type,
        id,
        timestamp: String(timestamp),
        signature: await signDelivery({ secret, id, timestamp, body }),
      }),
    },
    body,
  };
}

function contentOf(options: SignedDeliveryOptions) {
  const { alarm, event, body, type } = options;
  if ([alarm, event, body].filter((content) => content !== undefined).length !== 1) {
    throw new ConfigurationError("invalid_options", "give one of alarm, event and body");
  }
  if (alarm !== undefined)
    return { type: typeOf("new_alarm", type), body: JSON.stringify({ alarm }) };
  if (event !== undefined) {
    return { type: typeOf("delete_my_data_event", type), body: JSON.stringify({ event }) };
  }
  checkOption(typeof (type as unknown) === "string", "type must be given with a body");
  // Text if it encodes to the same bytes, since supertest sends text unchanged. Otherwise a copy.
  const sent = typeof body === "string" ? body : (textOfUtf8(body) ?? Buffer.from(body));
  return { type, body: sent };
}

/** The type of a record's delivery. Throws for any other given type. */
function typeOf<T extends string>(type: T, given: string | undefined): T {
  checkOption(
    given === undefined || given === type,
    `type must be ${type} here; to send another type, give the JSON as body`,
  );
  return type;
}
