import type { FailureId } from "./silent-failures.js";
import { calmMinute } from "./calm-traffic.js";
import type { Recording } from "./recording.js";

/** Adds one minute of a failure to a recording. `minute` counts from its beginning, `now` is the clock's. */
export type FailingMinute = (recording: Recording, minute: number, now: number) => void;

/** Nothing but requests of one kind. */
const request =
  (...kind: Parameters<Recording["request"]>): FailingMinute =>
  (recording) => {
    recording.request(...kind);
  };

/** Something besides a calm minute. */
const besides =
  (act: (recording: Recording, minute: number) => void): FailingMinute =>
  (recording, minute, now) => {
    calmMinute(recording, now);
    act(recording, minute);
  };

/** What each failure does to the numbers: a delivery every two minutes, and its retries. */
export const RECORDED_FAILURES: Readonly<Record<FailureId, FailingMinute>> = {
  "wrong-secret": request("signature_mismatch"),
  "clock-off": request("stale"),
  "no-deliveries": () => undefined,
  // Only the webhook for Online Data events: alarms arrive as ever.
  "no-secret-registered": besides((recording, minute) => {
    if (minute % 3 === 0) recording.request("unsigned", { type: "delete_my_data_event" });
  }),
  "parser-in-front": request("body_consumed"),
  "store-down": request("store_unavailable"),
  "store-slow": (recording) => {
    recording.request("handled");
    recording.observe("store", 2, {}, 2);
  },
  "handler-slower": (recording, minute) => {
    recording.request("handled");
    recording.observe("handler", minute);
  },
  "event-type-fails": besides((recording, minute) => {
    if (minute % 5 !== 0) return;
    const type = "delete_my_data_event";
    recording.request("handler_failed", { type });
    const event_type = "DATA_REAPPEARED";
    recording.add("gateway_webhook_handler_failures_total", { type, event_type });
  }),
  "dead-jobs": besides((recording, minute) => {
    if (minute === 3) recording.add("gateway_webhook_jobs_dead_total");
  }),
  "hang-ups": (recording, minute) => {
    recording.request("handled");
    if (minute % 4 === 0) recording.add("gateway_webhook_disconnected_total");
  },
  "unknown-types": besides((recording, minute) => {
    if (minute === 3) recording.request("unrecognized", { type: "other" });
  }),
};

/** More that the rules must notice, with the alert that must fire. */
export const MORE_FAILURES: readonly (readonly [
  title: string,
  alert: string,
  minute: FailingMinute,
])[] = [
  [
    "a last attempt is refused",
    "GatewayWebhookDeliveryLost",
    besides((recording, minute) => {
      if (minute === 3) recording.add("gateway_webhook_last_attempts_refused_total");
    }),
  ],
  [
    "completions wait for the store",
    "GatewayWebhookStoreFailing",
    besides((recording) => {
      recording.set("gateway_webhook_completions_pending", 1);
    }),
  ],
  [
    "the secret function is down",
    "GatewayWebhookStoreFailing",
    request("secret_unavailable", { type: "none" }),
  ],
  ["handlers ask for each delivery again", "GatewayWebhookHandlerFailing", request("retry_later")],
  ["no handler is free", "GatewayWebhookHandlerSlow", request("overloaded")],
  [
    "no worker takes jobs",
    "GatewayWebhookJobsWaiting",
    besides((recording, minute) => {
      const queue = "gateway-deliveries";
      recording.set("gateway_webhook_jobs_oldest_age_seconds", 60 * minute, { queue });
    }),
  ],
  [
    "the gateway sends a value that is not documented",
    "GatewayWebhookUnknownType",
    besides((recording, minute) => {
      if (minute === 3) recording.add("gateway_webhook_drift_total", { kind: "value" });
    }),
  ],
];
