import { signDelivery, type WebhookRequest } from "../../src/index.js";

/** The secret of all fixtures and tests (SIGNING.md). */
export const TEST_SECRET = "whsec_test_0123456789abcdef";
/** The time of the tests' clock, in Unix seconds and milliseconds. */
export const NOW_SECONDS = 1_760_000_000;
export const NOW_MS = NOW_SECONDS * 1000;

/** A synthetic alarm record. */
export function alarm(overrides: Record<string, unknown> = {}) {
  return {
    id: 1,
    text: "Email address found in a breach",
    account_id: 42,
    severity: "High",
    status: "NEW",
    source: "BreachDb",
    event_type: "email_hacked",
    category_id: 3,
    original_event_id: "evt-1",
    payload: '{"breach":"Example"}',
    date: "2026-07-08 10:00:00",
    checked_at: "2026-07-08 10:00:00",
    created_at: "2026-07-08 10:00:00",
    updated_at: "2026-07-08 10:00:00",
    ...overrides,
  };
}

/** The body of a synthetic alarm. */
export const alarmBody = (overrides: Record<string, unknown> = {}): string =>
  JSON.stringify({ alarm: alarm(overrides) });

/** A synthetic Online Data event record. The site fields are null if the type has none. */
export function onlineDataEvent(type: string, overrides: Record<string, unknown> = {}) {
  const isSiteEvent = type !== "POWER_OF_ATTORNEY_SIGNED";
  return {
    type,
    severity: "SUCCESS",
    account_id: 42,
    client_id: "client-1",
    site_id: isSiteEvent ? 7 : null,
    site_name: isSiteEvent ? "Example Broker" : null,
    site_base_url: isSiteEvent ? "https://broker.example" : null,
    occurred_at: "2026-07-08T10:00:00+00:00",
    ...overrides,
  };
}

/** A platform that lets a request run, but not wait for a place. */
export const NO_TIME_TO_WAIT: Pick<WebhookRequest, "hostDeadline"> = {
  hostDeadline: { handlerUntil: Infinity, handlerMs: () => 0, storeMs: (ms) => ms },
};

/** Changes of the default delivery. */
export interface DeliveryOverrides {
  readonly id?: string;
  readonly type?: string;
  /** Timestamp in Unix seconds. */
  readonly timestamp?: number;
  readonly secret?: string;
  readonly body?: string | Uint8Array;
}

/** The headers of a signed delivery. A type and not an interface, so that it is also a plain record. */
export type SignedHeaders = {
  "content-type": string;
  "x-webhook-type": string;
  "x-webhook-id": string;
  "x-webhook-timestamp": string;
  "x-webhook-signature": string;
};

/** A delivery as the gateway sends it. By default a fresh, signed alarm. */
export async function delivery(overrides: DeliveryOverrides = {}) {
  const {
    id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    type = "new_alarm",
    timestamp = NOW_SECONDS,
    secret = TEST_SECRET,
    body = alarmBody(),
  } = overrides;
  const headers: SignedHeaders = {
    "content-type": "application/json",
    "x-webhook-type": type,
    "x-webhook-id": id,
    "x-webhook-timestamp": String(timestamp),
    "x-webhook-signature": await signDelivery({ secret, id, timestamp, body }),
  };
  return { method: "POST", headers, body } satisfies WebhookRequest;
}

/** A signed Online Data event. */
export function eventDelivery(
  type: string,
  overrides: DeliveryOverrides & { readonly event?: Record<string, unknown> } = {},
) {
  const { event, ...rest } = overrides;
  return delivery({
    type: "delete_my_data_event",
    body: JSON.stringify({ event: onlineDataEvent(type, event) }),
    ...rest,
  });
}
