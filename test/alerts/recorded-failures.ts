import type { FailureId } from "./silent-failures.js";
import { calmMinute } from "./calm-traffic.js";
import type { Recording } from "./recording.js";

/** Adds one minute of a failure to a recording. `minute` counts from its beginning, `now` is the clock's. */
export type FailingMinute = (recording: Recording, minute: number, now: number) => void;

const calm: FailingMinute = (recording, _minute, now) => {
  calmMinute(recording, now);
};

/** What each failure does to the numbers: a delivery every two minutes, and its retries. */
export const RECORDED_FAILURES: Readonly<Record<FailureId, FailingMinute>> = {
  "wrong-secret": (recording) => {
    recording.request("signature_mismatch");
  },
  "clock-off": (recording) => {
    recording.request("stale");
  },
  "no-deliveries": () => undefined,
  // Only the webhook for Online Data events: alarms arrive as ever.
  "no-secret-registered": (recording, minute, now) => {
    calm(recording, minute, now);
    if (minute % 3 === 0) recording.request("unsigned", { type: "delete_my_data_event" });
  },
  "parser-in-front": (recording) => {
    recording.request("body_consumed");
  },
  "store-down": (recording) => {
    recording.request("store_unavailable");
  },
  "store-slow": (recording) => {
    recording.request("handled");
    recording.observe("store", 2, {}, 2);
  },
  "handler-slower": (recording, minute) => {
    recording.request("handled");
    recording.observe("handler", minute);
  },
  "event-type-fails": (recording, minute, now) => {
    calm(recording, minute, now);
    if (minute % 5 !== 0) return;
    const type = "delete_my_data_event";
    recording.request("handler_failed", { type });
    const event_type = "DATA_REAPPEARED";
    recording.add("gateway_webhook_handler_failures_total", { type, event_type });
  },
  "dead-jobs": (recording, minute, now) => {
    calm(recording, minute, now);
    if (minute === 3) recording.add("gateway_webhook_jobs_dead_total");
  },
  "hang-ups": (recording, minute) => {
    recording.request("handled");
    if (minute % 4 === 0) recording.add("gateway_webhook_disconnected_total");
  },
  "unknown-types": (recording, minute, now) => {
    calm(recording, minute, now);
    if (minute === 3) recording.request("unrecognized", { type: "other" });
  },
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
    (recording, minute, now) => {
      calm(recording, minute, now);
      if (minute === 3) recording.add("gateway_webhook_last_attempts_refused_total");
    },
  ],
  [
    "completions wait for the store",
    "GatewayWebhookStoreFailing",
    (recording, minute, now) => {
      calm(recording, minute, now);
      recording.set("gateway_webhook_completions_pending", 1);
    },
  ],
  [
    "the secret function is down",
    "GatewayWebhookStoreFailing",
    (recording) => {
      recording.request("secret_unavailable", { type: "none" });
    },
  ],
  [
    "handlers ask for each delivery again",
    "GatewayWebhookHandlerFailing",
    (recording) => {
      recording.request("retry_later");
    },
  ],
  [
    "no handler is free",
    "GatewayWebhookHandlerSlow",
    (recording) => {
      recording.request("overloaded");
    },
  ],
  [
    "no worker takes jobs",
    "GatewayWebhookJobsWaiting",
    (recording, minute, now) => {
      calm(recording, minute, now);
      const queue = "gateway-deliveries";
      recording.set("gateway_webhook_jobs_oldest_age_seconds", 60 * minute, { queue });
    },
  ],
  [
    "the gateway sends a value that is not documented",
    "GatewayWebhookUnknownType",
    (recording, minute, now) => {
      calm(recording, minute, now);
      if (minute === 3) recording.add("gateway_webhook_drift_total", { kind: "value" });
    },
  ],
];
