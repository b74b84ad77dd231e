import { expect, it } from "vitest";
import { createRandom } from "../../kit/random.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { describeService } from "../support/describe-service.js";
import { readMarkdown } from "../support/package/markdown.js";
import { checkRules, missingPrometheus, testRules } from "./prometheus.js";
import { DAY, HOUR, Recording, WEEK } from "./recording.js";
import {
  ALERT_NAMES,
  type FailureId,
  ruleOf,
  RULES,
  shortenedRules,
  SILENT_FAILURES,
} from "./rules.js";

/** Deliveries an hour: busy days, quiet weekends, and nothing at night. */
function hourlyRate(minute: number): number {
  const hour = Math.floor((minute % DAY) / HOUR);
  if (hour < 6) return 0;
  const isWeekend = Math.floor((minute % WEEK) / DAY) >= 5;
  const rate = hour >= 8 && hour < 20 ? 60 : 6;
  return isWeekend ? rate / 6 : rate;
}

/** How often something happens that every receiver meets, and no one has to be woken for. */
const PER_DAY = { failure: 2, duplicate: 6, hangUp: 2, storeBlip: 1, slow: 4 };

const DELIVERIES_PER_DAY = 750;

/** A minute of a receiver that works, with the small troubles of every day. */
function calmMinute(recording: Recording, minute: number): void {
  const random = createRandom(minute);
  const rate = hourlyRate(minute) / HOUR;
  const deliveries = Math.floor(rate) + (random.fraction() < rate % 1 ? 1 : 0);
  for (let sent = 0; sent < deliveries; sent++) {
    const instance = random.pick(["a", "b"]);
    const type = random.chance(10) ? "delete_my_data_event" : "new_alarm";
    const happens = (what: keyof typeof PER_DAY) =>
      random.fraction() < PER_DAY[what] / DELIVERIES_PER_DAY;
    // A failure is cured by the next attempt.
    if (happens("failure")) {
      recording.request("handler_failed", { instance, type });
      const event_type = type === "new_alarm" ? "none" : "DATA_REAPPEARED";
      recording.add("gateway_webhook_handler_failures_total", { instance, type, event_type });
    }
    if (happens("storeBlip")) recording.request("store_unavailable", { instance, type });
    if (happens("hangUp")) recording.add("gateway_webhook_disconnected_total", { instance });
    if (happens("duplicate")) recording.request("duplicate", { instance, type });
    recording.request("handled", { instance, type });
    recording.observe("store", happens("slow") ? 1.5 : 0.002, { instance });
    recording.observe("store", 0.002, { instance });
    recording.observe("handler", happens("slow") ? 12 : 0.2, { instance });
  }
  const ofDay = minute % DAY;
  const instance = random.pick(["a", "b"]);
  // Bots find the URL, at night as well.
  if (ofDay === 3 * HOUR) recording.request("malformed", { instance, type: "other" }, 12);
  if (ofDay % HOUR === 7) recording.request("reachable", { instance, type: "other" });
  if (ofDay === 4 * HOUR) recording.request("signature_mismatch", { instance });
  // A burst each morning, which the workers need eight minutes for.
  const age = Math.max(0, 8 - Math.abs(ofDay - 7 * HOUR)) * 60;
  recording.set("gateway_webhook_jobs_oldest_age_seconds", age, { queue: "gateway-deliveries" });
  recording.set("gateway_webhook_jobs_queued", 0, { queue: "gateway-deliveries", state: "dead" });
  // A deployment each day, one process after the other.
  if (ofDay === 10 * HOUR) recording.restart("a");
  if (ofDay === 10 * HOUR + 1) recording.restart("b");
  for (const replica of ["a", "b"]) {
    const at = { instance: replica };
    const started = Math.floor((minute - 10 * HOUR) / DAY) * DAY + 10 * HOUR;
    recording.set("gateway_webhook_started_seconds", 60 * started, at);
    recording.set("up", 1, at);
    recording.set("gateway_webhook_in_flight", 0, at);
  }
  recording.set("gateway_webhook_check_exit_code", 0, { command: "check" });
}

/** Adds one minute of a failure to a recording. `minute` counts from its beginning, `now` is the clock's. */
type FailingMinute = (recording: Recording, minute: number, now: number) => void;

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

/** Something once in so many minutes. */
const eachOf = (minutes: number, act: (recording: Recording, now: number) => void): FailingMinute =>
  besides((recording, minute, now) => {
    if (minute % minutes === 0) act(recording, now);
  });

/** The gateway's deliveries of a type come again and again, and are refused. The failures begin after an hour. */
function refused(recording: Recording, type: string): void {
  recording.set("gateway_webhook_last_authentic_seconds", 60, { type });
  recording.set("gateway_webhook_refused_since_seconds", 3600, { type });
}

/** What each failure does to the numbers: a delivery every two minutes, and its retries. */
const RECORDED_FAILURES: Readonly<Record<FailureId, FailingMinute>> = {
  "wrong-secret": (recording) => {
    recording.request("signature_mismatch", { type: "none" });
    refused(recording, "new_alarm");
  },
  "clock-off": request("stale"),
  "no-deliveries": () => undefined,
  // Only the webhook for Online Data events: alarms arrive as ever.
  "no-secret-registered": besides((recording, minute) => {
    if (minute % 3 === 0) recording.request("unsigned", { type: "none" });
    refused(recording, "delete_my_data_event");
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
  "event-type-fails": eachOf(5, (recording) => {
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
  burst: added("gateway_webhook_overloaded_total", { attempt: "2" }, 455),
  "unknown-types": besides((recording, minute) => {
    if (minute === 3) recording.request("unrecognized", { type: "other" });
  }),
};

const QUEUE = { queue: "gateway-deliveries" };

/** More that the rules must notice, with the alerts that must fire, without their `GatewayWebhook`. */
const MORE_FAILURES: readonly (readonly [title: string, alert: string, minute: FailingMinute])[] = [
  ["a last attempt is lost", "DeliveryLost", added("gateway_webhook_last_attempts_refused_total")],
  ["completions wait for the store", "StoreFailing", set("gateway_webhook_completions_pending", 1)],
  ["handlers ask for each delivery again", "HandlerFailing", request("retry_later")],
  ["no handler is free", "HandlerSlow", request("overloaded")],
  ["no alarm is recognized", "TypeLost UnknownType", request("unrecognized")],
  ["all alarms are discarded", "TypeLost", request("discarded")],
  [
    "a type has no handler",
    "TypeLost UnknownType",
    besides((recording) => {
      const type = "delete_my_data_event";
      recording.set("gateway_webhook_handlers", 0, { type });
      recording.request("unhandled", { type });
    }),
  ],
  [
    "a worker has lost the handler of alarms",
    "TypeLost",
    added("gateway_webhook_jobs_total", { type: "new_alarm", outcome: "unhandled" }),
  ],
  [
    "a worker discards all alarms",
    "TypeLost",
    besides((recording) =>
      recording.add("gateway_webhook_jobs_total", { type: "new_alarm", outcome: "discarded" }),
    ),
  ],
  [
    "a proxy refuses large bodies now and then",
    "PartlyRefused",
    eachOf(4, (recording) => recording.request("body_too_large", { type: "none" })),
  ],
  ["one replica cannot be scraped", "ReplicaDown", set("up", 0, { instance: "b" })],
  [
    "a replica ends each ten minutes",
    "ReplicaDown",
    besides((recording, minute, now) => {
      const started = now - (minute % 10);
      recording.set("gateway_webhook_started_seconds", 60 * started, { instance: "b" });
    }),
  ],
  [
    "a proxy loses answers, so deliveries come twice",
    "AnswerLost",
    eachOf(5, (recording) => recording.request("duplicate")),
  ],
  ["the store may evict ids", "StoreForgets", set("gateway_webhook_store_forgets_total", 1)],
  [
    "webhooks check finds a webhook that is switched off",
    "CheckFailed",
    set("gateway_webhook_check_exit_code", 1, { command: "check" }),
  ],
  [
    "webhooks check cannot reach the gateway",
    "CheckNotDone",
    set("gateway_webhook_check_exit_code", 4, { command: "check" }),
  ],
  [
    "no worker takes jobs",
    "JobsWaiting",
    besides((recording, minute) =>
      recording.set("gateway_webhook_jobs_oldest_age_seconds", 60 * minute, QUEUE),
    ),
  ],
  [
    "dead jobs wait for someone to replay them",
    "DeliveryLost",
    set("gateway_webhook_jobs_queued", 2, { ...QUEUE, state: "dead" }),
  ],
  [
    "the gateway sends a value that is not documented",
    "UnknownType",
    added("gateway_webhook_drift_total", { kind: "value" }),
  ],
];

const MONDAY_AT_NINE = 9 * HOUR;

it("each rule has its own name, a severity and a section of the page", () => {
  const headings = readMarkdown("docs/monitoring.md").text.match(/^### .+$/gm) ?? [];
  expect(new Set(ALERT_NAMES).size).toBe(18);
  for (const alert of ALERT_NAMES) {
    const rule = ruleOf(RULES, alert);
    expect(rule).toMatch(/severity: (critical|warning)\n/);
    expect(rule).toContain(`runbook: docs/monitoring.md#${alert.toLowerCase()}\n`);
    expect(headings).toContain(`### ${alert}`);
  }
});

it("each outcome that may lose a delivery raises an alert", () => {
  const outcomesIn = (rules: string): readonly string[] =>
    Array.from(rules.matchAll(/outcome=~?"([^"]+)"/g), ([, names = ""]) => names.split("|")).flat();
  const harmless = [
    ..."handled duplicate discarded in_flight reachable method_not_allowed draining".split(" "),
    // Bots cause it all day. A proxy that breaks every request is noticed by the silence.
    "malformed",
    // Counted by event type in gateway_webhook_handler_failures_total.
    "handler_failed",
  ];
  const known = Object.keys(OUTCOMES);
  expect(outcomesIn(RULES).filter((outcome) => !known.includes(outcome))).toEqual([]);
  const silent = "GatewayWebhookSilent";
  const alerting = ALERT_NAMES.filter((alert) => alert !== silent).flatMap((alert) =>
    outcomesIn(ruleOf(RULES, alert)),
  );
  expect([...new Set([...alerting, ...harmless])].sort()).toEqual(known.sort());
});

it("the proof changes nothing of the rules but their durations", () => {
  const withoutDurations = (rules: string) => rules.replaceAll(/\b\d+[smhdw]\b| >= \d+$/gm, "T");
  const short = shortenedRules();
  expect(short).not.toMatch(/\[\d+[mhdw]\]|offset \d+[mhdw]|for: \d+[mhdw]/);
  expect(withoutDurations(short)).toBe(withoutDurations(RULES));
});

describeService("the published rules in promtool", missingPrometheus, () => {
  it("promtool finds no fault in the rules", () => {
    expect(checkRules()).toBe("");
  });

  it.each([
    ...SILENT_FAILURES.filter(({ id }) => id !== "no-deliveries").map(
      ({ id, title, alert }) => [title, alert, RECORDED_FAILURES[id]] as const,
    ),
    ...MORE_FAILURES.map(
      ([title, alerts, fail]) =>
        [title, alerts.replaceAll(/\b(?=[A-Z])/g, "GatewayWebhook"), fail] as const,
    ),
  ])("nothing else fires within two windows: %s, %s", (_title, alerts, fail) => {
    const recording = new Recording();
    const [alert = "", ...others] = alerts.split(" ");
    const twoWindows = 2 * windowMinutesOf(alert);
    for (let minute = 0; minute <= HOUR + twoWindows; minute++) {
      const now = MONDAY_AT_NINE + minute;
      if (minute < HOUR) calmMinute(recording, now);
      else fail(recording, minute - HOUR, now);
      recording.scrape();
    }
    const fired = [HOUR + twoWindows, twoWindows, alert, ...others] as const;
    expect(testRules(recording, [HOUR - 1, HOUR], fired)).toBe("");
  });

  it("a receiver whose metrics are gone raises GatewayWebhookSilent", () => {
    expect(testRules(new Recording(), [10, 10, "GatewayWebhookSilent"])).toBe("");
  });

  it("an app without metrics raises GatewayWebhookSilent while another app lives", () => {
    const recording = new Recording();
    for (let minute = 0; minute < 2 * HOUR; minute++) {
      if (minute === HOUR) recording.remove("job", "receiver");
      recording.request("handled", { job: "another" });
      recording.scrape();
    }
    const fired = [HOUR + 12, HOUR, "GatewayWebhookSilent"] as const;
    expect(testRules(recording, [HOUR - 1, HOUR], fired)).toBe("");
  });
});

/** The longest range of an alert and its `for`, in minutes. */
function windowMinutesOf(alert: string): number {
  const minutes = { m: 1, h: HOUR, d: DAY, w: WEEK };
  const durations = Array.from(
    ruleOf(RULES, alert).matchAll(/(?:\[|for: |offset )(\d+)([mhdw])/g),
    ([, count, unit]) => Number(count) * minutes[unit as keyof typeof minutes],
  );
  return Math.min(2 * HOUR, Math.max(15, ...durations));
}
