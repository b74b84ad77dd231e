import type { FailureId } from "./silent-failures.js";
import { calmMinute } from "./calm-traffic.js";
import type { Recording } from "./recording.js";

/** Adds one minute of a failure to a recording. `minute` counts from its beginning, `now` is the clock's. */
export type FailingMinute = (recording: Recording, minute: number, now: number) => void;

/** Nothing but requests of one kind. */
const request =
  (...kind: Parameters<Recording["request"]>): FailingMinute =>
  (recording) =>
    recording.request(...kind);

/** Something besides a calm minute. */
const besides =
  (act: FailingMinute): FailingMinute =>
  (recording, minute, now) => {
    calmMinute(recording, now);
    act(recording, minute, now);
  };

/** A metric that has a value besides a calm minute. */
const set = (...metric: Parameters<Recording["set"]>): FailingMinute =>
  besides((recording) => recording.set(...metric));

/** Something that is counted once, in the fourth minute. */
const added = (...metric: Parameters<Recording["add"]>): FailingMinute =>
  besides((recording, minute) => {
    if (minute === 3) recording.add(...metric);
  });

/** Every request of a type is refused. */
function refused(recording: Recording, minute: number, type: string, instance = "a"): void {
  const labels = { type, instance };
  recording.set("gateway_webhook_all_refused_seconds", minute < 5 ? 0 : 60 * minute, labels);
}

/** What each failure does to the numbers: a delivery every two minutes, and its retries. */
export const RECORDED_FAILURES: Readonly<Record<FailureId, FailingMinute>> = {
  "wrong-secret": (recording, minute) => {
    recording.request("signature_mismatch", { type: "none" });
    refused(recording, minute, "new_alarm");
  },
  "clock-off": request("stale"),
  "no-deliveries": () => undefined,
  // Only the webhook for Online Data events: alarms arrive as ever.
  "no-secret-registered": besides((recording, minute) => {
    if (minute % 3 === 0) recording.request("unsigned", { type: "none" });
    refused(recording, minute, "delete_my_data_event");
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
  "dead-jobs": added("gateway_webhook_jobs_dead_total"),
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
    added("gateway_webhook_last_attempts_refused_total"),
  ],
  [
    "completions wait for the store",
    "GatewayWebhookStoreFailing",
    set("gateway_webhook_completions_pending", 1),
  ],
  [
    "the secret function is down",
    "GatewayWebhookStoreFailing",
    request("secret_unavailable", { type: "none" }),
  ],
  ["handlers ask for each delivery again", "GatewayWebhookHandlerFailing", request("retry_later")],
  ["no handler is free", "GatewayWebhookHandlerSlow", request("overloaded")],
  [
    "a burst finds no place",
    "GatewayWebhookOverloaded",
    besides((recording, minute) => {
      if (minute === 3) recording.add("gateway_webhook_overloaded_total", { attempt: "2" }, 455);
    }),
  ],
  [
    "one replica has another secret",
    "GatewayWebhookNotAuthentic",
    besides((recording, minute) => refused(recording, minute, "new_alarm", "b")),
  ],
  [
    "a proxy refuses large bodies now and then",
    "GatewayWebhookPartlyRefused",
    besides((recording, minute) => {
      if (minute % 4 === 0) recording.request("body_too_large", { type: "none" });
    }),
  ],
  ["one replica cannot be scraped", "GatewayWebhookReplicaDown", set("up", 0, { instance: "b" })],
  [
    "a replica ends each ten minutes",
    "GatewayWebhookReplicaDown",
    besides((recording, minute, now) => {
      const started = now - (minute % 10);
      recording.set("gateway_webhook_started_seconds", 60 * started, { instance: "b" });
    }),
  ],
  [
    "a proxy loses answers, so deliveries come twice",
    "GatewayWebhookAnswerLost",
    besides((recording, minute) => {
      if (minute % 5 === 0) recording.request("duplicate");
    }),
  ],
  [
    "the store may evict ids",
    "GatewayWebhookStoreForgets",
    set("gateway_webhook_store_forgets_total", 1),
  ],
  [
    "webhooks check finds a webhook that is switched off",
    "GatewayWebhookCheckFailed",
    set("gateway_webhook_check_exit_code", 1, { command: "check" }),
  ],
  [
    "no worker takes jobs",
    "GatewayWebhookJobsWaiting",
    besides((recording, minute) => {
      const queue = "gateway-deliveries";
      recording.set("gateway_webhook_jobs_oldest_age_seconds", 60 * minute, { queue });
    }),
  ],
  [
    "dead jobs wait for someone to replay them",
    "GatewayWebhookDeliveryLost",
    set("gateway_webhook_jobs_queued", 2, { queue: "gateway-deliveries", state: "dead" }),
  ],
  [
    "the gateway sends a value that is not documented",
    "GatewayWebhookUnknownType",
    added("gateway_webhook_drift_total", { kind: "value" }),
  ],
];
