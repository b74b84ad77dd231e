import { expect, it } from "vitest";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { describeService } from "../support/describe-service.js";
import { readMarkdown } from "../support/package/markdown.js";
import { calmMinute, DAY, HOUR, WEEK } from "./calm-traffic.js";
import { missingPrometheus } from "./prometheus.js";
import { checkRules, testRules } from "./promtool.js";
import { Recording } from "./recording.js";
import { ALERT_NAMES, ruleOf, RULES, shortenedRules } from "./rules.js";
import { type FailureId, SILENT_FAILURES } from "./silent-failures.js";

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

/** Every request of a type is refused. */
function refused(recording: Recording, minute: number, type: string, instance = "a"): void {
  const labels = { type, instance };
  recording.set("gateway_webhook_all_refused_seconds", minute < 5 ? 0 : 60 * minute, labels);
}

/** What each failure does to the numbers: a delivery every two minutes, and its retries. */
const RECORDED_FAILURES: Readonly<Record<FailureId, FailingMinute>> = {
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
const MORE_FAILURES: readonly (readonly [title: string, alert: string, minute: FailingMinute])[] = [
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

const MONDAY_AT_NINE = 9 * HOUR;

it("the rules have different names, a severity and a section of docs/monitoring.md", () => {
  const headings = readMarkdown("docs/monitoring.md").text.match(/^### .+$/gm) ?? [];
  expect(new Set(ALERT_NAMES).size).toBe(16);
  for (const alert of ALERT_NAMES) {
    const rule = ruleOf(RULES, alert);
    expect(rule).toMatch(/severity: (critical|warning)\n/);
    expect(rule).toContain(`runbook: docs/monitoring.md#${alert.toLowerCase()}\n`);
    expect(headings).toContain(`### ${alert}`);
  }
});

it("each outcome that may lose a delivery raises an alert, and the rules name no other", () => {
  const outcomesIn = (rules: string): readonly string[] =>
    Array.from(rules.matchAll(/outcome=~?"([^"]+)"/g), ([, names = ""]) => names.split("|")).flat();
  const harmless = [
    "handled",
    "duplicate",
    "discarded",
    "in_flight",
    "reachable",
    "method_not_allowed",
    "draining",
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

it("the proof shortens every duration of the rules and changes nothing else", () => {
  const withoutDurations = (rules: string): string =>
    rules.replaceAll(/\b\d+[smhdw]\b| >= \d+$/gm, "T");
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
    ...MORE_FAILURES,
  ])(
    "within two windows of this failure one alert fires, and no other: %s, %s",
    (title, alert, fail) => {
      const recording = new Recording();
      const twoWindows = 2 * windowMinutesOf(alert);
      for (let minute = 0; minute <= HOUR + twoWindows; minute++) {
        const now = MONDAY_AT_NINE + minute;
        if (minute < HOUR) calmMinute(recording, now);
        else fail(recording, minute - HOUR, now);
        recording.scrape();
      }
      const expected = [
        { atMinute: HOUR - 1, overMinutes: HOUR, alerts: [] },
        { atMinute: HOUR + twoWindows, overMinutes: twoWindows, alerts: [alert] },
      ];
      expect(testRules([{ name: title, recording, everyMinutes: 1, expected }])).toBe("");
    },
  );

  it("a receiver whose metrics are gone raises GatewayWebhookSilent", () => {
    const alerts = ["GatewayWebhookSilent"];
    const expected = [{ atMinute: 10, overMinutes: 10, alerts }];
    const recording = new Recording();
    expect(testRules([{ name: "no metrics", recording, everyMinutes: 1, expected }])).toBe("");
  });

  it("an app whose metrics are gone raises GatewayWebhookSilent while another app on the Prometheus lives", () => {
    const recording = new Recording();
    for (let minute = 0; minute < 2 * HOUR; minute++) {
      if (minute === HOUR) recording.remove("job", "receiver");
      recording.request("handled", { job: "another" });
      recording.scrape();
    }
    const expected = [
      { atMinute: HOUR - 1, overMinutes: HOUR, alerts: [] },
      { atMinute: HOUR + 12, overMinutes: HOUR, alerts: ["GatewayWebhookSilent"] },
    ];
    expect(testRules([{ name: "one app gone", recording, everyMinutes: 1, expected }])).toBe("");
  });

  it("a type that vanishes while the other arrives raises GatewayWebhookSilent on the first evening", () => {
    const recording = new Recording();
    const vanishes = WEEK + MONDAY_AT_NINE;
    for (let minute = 0; minute < WEEK + DAY; minute++) {
      calmMinute(recording, minute);
      const isEvent = minute % 30 === 0 && minute % DAY >= 8 * HOUR && minute < vanishes;
      if (isEvent) recording.request("handled", { type: "rare" });
      if (minute % 5 === 0) recording.scrape();
    }
    const evening = WEEK + 21.5 * HOUR;
    const expected = [
      { atMinute: vanishes, overMinutes: WEEK, alerts: [] },
      { atMinute: evening, overMinutes: 9 * HOUR, alerts: ["GatewayWebhookSilent"] },
    ];
    expect(testRules([{ name: "one type gone", recording, everyMinutes: 5, expected }])).toBe("");
  });

  it("two calm weeks with quiet nights raise no alert, and a silent morning after them does", () => {
    const recording = new Recording();
    const silentFrom = 2 * WEEK + MONDAY_AT_NINE;
    for (let minute = 0; minute < silentFrom + 4 * HOUR; minute++) {
      if (minute < silentFrom) calmMinute(recording, minute);
      // Scrapes each minute would take promtool minutes.
      if (minute % 5 === 0) recording.scrape();
    }
    const expected = [
      { atMinute: silentFrom, overMinutes: 2 * WEEK + DAY, alerts: [] },
      { atMinute: silentFrom + 3.5 * HOUR, overMinutes: HOUR, alerts: ["GatewayWebhookSilent"] },
    ];
    expect(testRules([{ name: "calm weeks", recording, everyMinutes: 5, expected }])).toBe("");
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
