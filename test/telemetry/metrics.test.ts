import { createHmac } from "node:crypto";
import { expect, it, vi } from "vitest";
import {
  ConfigurationError,
  memoryStore,
  metricsText,
  type WebhookReceiver,
  type WebhookRequest,
} from "../../src/index.js";
import { inbox } from "../../src/inbox/index.js";
import { secretFingerprint } from "../../src/management/index.js";
import { openTelemetry } from "../../src/telemetry/opentelemetry/index.js";
import { alarmReceiver, heldHandler, type AlarmHandler } from "../support/alarm-receiver.js";
import {
  alarmBody,
  delivery,
  NO_TIME_TO_WAIT,
  NOW_MS,
  NOW_SECONDS,
  TEST_SECRET,
} from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { rejects, throwing } from "../support/faults.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";
import { spiedStore } from "../support/spied-store.js";
import { inMemorySdk, parsePrometheus } from "../support/telemetry/in-memory.js";
import {
  transactionalScene,
  type DatabaseFaults,
} from "../support/transactional/transactional-database.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";

/** A receiver with `/opentelemetry`, and its metrics as both ways of export write them. */
function measuredReceiver(
  handler: AlarmHandler = () => undefined,
  options: Partial<CommonReceiverOptions> = {},
) {
  const sdk = inMemorySdk();
  const { meterProvider } = sdk;
  const telemetry = openTelemetry({ meterProvider, spans: false });
  const receiver = alarmReceiver(handler, { telemetry, ...options });
  return {
    receiver,
    exported: () => sdk.series(),
    text: () => parsePrometheus(metricsText(receiver)),
  };
}

const atAlarms = (outcome: string) =>
  `gateway_webhook_requests_total{outcome="${outcome}",type="new_alarm"}`;

const notAuthentic = (reason: string, type: string) =>
  `gateway_webhook_not_authentic_total{reason="${reason}",type="${type}"}`;

/** The series whose value is not 0, except buckets, sums and clocks. */
function risen(series: ReadonlyMap<string, number>): Record<string, number> {
  const kept = [...series].filter(
    ([name, value]) => value !== 0 && !/_bucket|_sum|last_a\w+_seconds|started/.test(name),
  );
  return Object.fromEntries(kept);
}

async function receiveEach(receiver: WebhookReceiver, ids: readonly string[]): Promise<void> {
  for (const id of ids) await receiver.receive(await delivery({ id }));
}

it("every counter exists at 0 before the first request", async () => {
  const { exported, text } = measuredReceiver();
  const names = (series: ReadonlyMap<string, number>) =>
    [...series.keys()].filter((name) => name.includes("_total"));
  expect(names(text()).length).toBeGreaterThan(80);
  for (const name of names(text())) expect(text().get(name), name).toBe(0);
  const both = await exported();
  for (const name of names(text())) expect(both.get(name), name).toBe(0);
  expect(both.get('gateway_webhook_jobs_dead_total{type="new_alarm"}')).toBe(0);
});

it("requests are counted by outcome and type, forged ones without a type", async () => {
  const { receiver, text } = measuredReceiver();
  await receiveEach(receiver, ["a", "b", "a"]);
  await receiver.receive(await delivery({ secret: "another secret of 20" }));
  await receiver.receive(await delivery({ id: "c", type: "jane_doe", body: "{}" }));
  const requests = Object.entries(risen(text())).filter(([name]) => name.includes("_requests_"));
  expect(Object.fromEntries(requests)).toEqual({
    [atAlarms("handled")]: 2,
    [atAlarms("duplicate")]: 1,
    'gateway_webhook_requests_total{outcome="signature_mismatch",type="none"}': 1,
    'gateway_webhook_requests_total{outcome="unrecognized",type="other"}': 1,
  });
  // A webhook type that is not documented.
  expect(text().get("gateway_webhook_drift_total{}")).toBe(1);
});

const withHeaders = (changes: Record<string, string | string[] | undefined>) => async () => {
  const { headers, ...rest } = await delivery();
  return { ...rest, headers: { ...headers, ...changes } };
};

it.each<[string, () => Promise<WebhookRequest>, string | undefined, string?]>([
  ["without X-Webhook-Id", withHeaders({ "x-webhook-id": undefined }), "malformed_signed"],
  ["without a timestamp", withHeaders({ "x-webhook-timestamp": undefined }), "malformed_signed"],
  ["without a type", withHeaders({ "x-webhook-type": undefined }), "malformed_signed", "none"],
  ["with its id twice", withHeaders({ "x-webhook-id": ["a", "b"] }), "malformed_signed"],
  ["with a broken signature", withHeaders({ "x-webhook-signature": "v1=0" }), "malformed_signed"],
  ["without a signature", withHeaders({ "x-webhook-signature": undefined }), "unsigned"],
  [
    "of another secret, with a type that is not documented",
    () => delivery({ type: "jane_doe", secret: "another secret of 20" }),
    "signature_mismatch",
    "other",
  ],
  [
    "without an id and a good signature",
    withHeaders({ "x-webhook-id": undefined, "x-webhook-signature": "v1=0" }),
    undefined,
  ],
  [
    "without any webhook header",
    () => Promise.resolve({ method: "POST", headers: {}, body: "{}" }),
    undefined,
  ],
])(
  "a request %s is counted by the type that it claims, if it may be the gateway's",
  async (_what, request, reason, type = "new_alarm") => {
    const { receiver, text, exported } = measuredReceiver();
    await receiver.receive(await request());
    const counted = Object.entries(risen(text())).filter(([name]) => name.includes("authentic"));
    expect(counted).toEqual(reason === undefined ? [] : [[notAuthentic(reason, type), 1]]);
    if (reason !== undefined) expect((await exported()).get(notAuthentic(reason, type))).toBe(1);
  },
);

it("a joined header, as Fetch writes two of one name, is counted by its first value", async () => {
  const { receiver, text } = measuredReceiver();
  const { headers, ...rest } = await delivery();
  const joined = new Headers(headers);
  for (const [name, value] of joined) if (name.startsWith("x-")) joined.append(name, value);
  await receiver.receive({ ...rest, headers: joined });
  expect(text().get(notAuthentic("malformed_signed", "new_alarm"))).toBe(1);
});

it.each<[string, () => unknown]>([
  ["is synchronous", () => vi.advanceTimersByTime(1_250)],
  ["is asynchronous", () => vi.advanceTimersByTimeAsync(1_250)],
])("the seconds of a handler that %s are measured", async (_how, handler) => {
  vi.useFakeTimers();
  vi.advanceTimersByTime(60_000);
  const { receiver, text } = measuredReceiver(handler);
  text();
  await receiveEach(receiver, ["a"]);
  expect(text().get("gateway_webhook_handler_duration_seconds_sum{}")).toBe(1.25);
});

it("a failed call of a transactional store is counted, and a handler that throws is none", async () => {
  const faults: DatabaseFaults = {};
  const { receiver } = transactionalScene(({ id }) => {
    if (id === "bad") throw new Error("made up");
  }, faults);
  await receiveEach(receiver, ["good", "bad"]);
  const failures = () =>
    parsePrometheus(metricsText(receiver)).get(
      'gateway_webhook_store_failures_total{operation="process"}',
    );
  expect(failures()).toBe(0);
  faults.connect = rejects;
  await receiveEach(receiver, ["refused"]);
  expect(failures()).toBe(1);
});

it("deliveries that were recovered are counted", async () => {
  const { receiver, text } = measuredReceiver();
  const { body } = await delivery();
  await recoverDelivery(receiver, { id: "lost", type: "new_alarm", body });
  await recoverDelivery(receiver, { id: "bad id", type: "new_alarm", body });
  await receiveEach(receiver, ["a"]);
  expect(text().get("gateway_webhook_recovered_total{}")).toBe(1);
  expect(text().get(atAlarms("handled"))).toBe(2);
});

it("the last authentic and the last acknowledged delivery are told by the receiver's clock", async () => {
  let now = NOW_MS;
  const handler = () => {
    if (now > NOW_MS) throw new Error("made up");
  };
  const { receiver, text } = measuredReceiver(handler, { now: () => now });
  const seconds = (name: string) => text().get(`gateway_webhook_${name}_seconds{type="new_alarm"}`);
  expect([seconds("last_authentic"), seconds("last_acknowledged")]).toEqual([0, 0]);
  await receiver.receive(await delivery({ id: "a" }));
  now += 60_000;
  await receiver.receive(await delivery({ id: "b", timestamp: NOW_SECONDS + 60 }));
  expect([seconds("last_authentic"), seconds("last_acknowledged")]).toEqual([
    NOW_SECONDS + 60,
    NOW_SECONDS,
  ]);
  expect(text().get("gateway_webhook_started_seconds{}")).toBe(NOW_SECONDS);
});

it("the Prometheus text and the OpenTelemetry exporter show the same numbers", async () => {
  const { receiver, text, exported } = measuredReceiver(({ id }) => {
    if (id === "bad") throw new Error("made up");
  });
  text(); // measures durations from now on
  await receiveEach(receiver, ["a", "b", "a", "bad"]);
  await receiver.receive({ method: "GET", headers: {}, body: "" });
  const ours = [...text()].map(([name, value]): [string, number] => [
    // The specification adds the unit, and the JavaScript exporter does not.
    name.replace(/_seconds(?=_bucket|_sum|_count|\{|$)/, ""),
    value,
  ]);
  const theirs = await exported();
  for (const [name, value] of ours) {
    // The SDK has no histogram before its first value.
    if (value !== 0 || theirs.has(name)) expect(theirs.get(name), name).toBeCloseTo(value, 9);
  }
  const more = [...theirs.keys()].filter((name) => !new Map(ours).has(name));
  expect(more.filter((name) => !name.startsWith("gateway_webhook_jobs"))).toEqual([]);
});

const takes = () => undefined;
it.each<[CommonReceiverOptions["handlers"], number, number]>([
  [{ new_alarm: takes }, 1, 0],
  [{ unrecognized: takes }, 0, 0],
  [{ new_alarm: undefined, delete_my_data_event: { DATA_DELETED: takes } }, 0, 1],
  [{ delete_my_data_event: { DATA_DELETED: takes, DATA_REAPPEARED: takes } }, 0, 2],
  [{ delete_my_data_event: { "*": takes } }, 0, 7],
  [{ delete_my_data_event: takes }, 0, 7],
])("the handlers of each webhook type are told: %o", async (handlers, alarms, events) => {
  const { receiver, text, exported } = measuredReceiver(undefined, { handlers });
  const told = (series: ReadonlyMap<string, number>) =>
    ["new_alarm", "delete_my_data_event"].map((type) =>
      series.get(`gateway_webhook_handlers{type="${type}"}`),
    );
  expect(receiver.health().status).toBe("ok");
  expect(told(text())).toEqual([alarms, events]);
  expect(told(await exported())).toEqual([alarms, events]);
});

it("what waits in queues, and what is dead, is in both ways of export", async () => {
  const state = { count: 3, oldestMs: 90_500, dead: 2 };
  const driver = { name: "alarms", put: rejects, waiting: () => Promise.resolve(state) };
  const { meterProvider, series } = inMemorySdk();
  const telemetry = openTelemetry({ meterProvider, spans: false });
  const { receiver } = recordingReceiver({ handlers: inbox({ driver, telemetry }) });
  const others = [
    { name: 'a "b"\\\n', waiting: () => Promise.resolve({ dead: 1, count: null as never }) },
    { waiting: rejects },
  ];
  const text = await metricsText(receiver, { drivers: [driver, ...others] });
  expect(text.startsWith(metricsText(receiver))).toBe(true);
  const jobs = text.split("\n").filter((line) => line.startsWith("gateway_webhook_jobs"));
  expect(jobs).toEqual([
    'gateway_webhook_jobs_oldest_age_seconds{queue="alarms"} 90.5',
    'gateway_webhook_jobs_queued{queue="alarms",state="waiting"} 3',
    'gateway_webhook_jobs_queued{queue="alarms",state="dead"} 2',
    'gateway_webhook_jobs_queued{queue="a \\"b\\"\\\\\\n",state="dead"} 1',
  ]);
  const theirs = await series();
  for (const [name, value] of parsePrometheus(jobs.slice(0, 3).join("\n"))) {
    expect(theirs.get(name.replace("_seconds", "")), name).toBe(value);
  }
});

it.each([[null], [{}], [{ drivers: {} }], [{ drivers: [{}] }], [{ driver: [] }]])(
  "metricsText refuses the options %j",
  (options) => {
    const { receiver } = measuredReceiver();
    expect(() => metricsText(receiver, options as never)).toThrow(ConfigurationError);
  },
);

/** A delivery of an alarm that was created so many milliseconds before. */
function alarmOf(ageMs: number, id = "aged") {
  const created_at = new Date(NOW_MS - ageMs).toISOString();
  return delivery({ id, body: alarmBody({ created_at }) });
}

it("the lag of alarms falls into a bucket of the gateway's schedule", async () => {
  const { receiver, text } = measuredReceiver();
  text();
  await receiver.receive(await alarmOf(40_000));
  const below = (le: string) =>
    text().get(`gateway_webhook_delivery_lag_seconds_bucket{le="${le}"}`);
  expect([below("35"), below("100"), below("+Inf")]).toEqual([0, 1, 1]);
  expect(text().get("gateway_webhook_delivery_lag_seconds_sum{}")).toBe(40);
});

it("a refusal at the last attempt and a sender who has hung up are counted", async () => {
  const { receiver, text } = measuredReceiver(throwing(new Error("made up")));
  await receiver.receive({ ...(await alarmOf(22_000_000)), isDisconnected: () => true });
  expect(risen(text())).toMatchObject({
    'gateway_webhook_handler_failures_total{event_type="none",type="new_alarm"}': 1,
    "gateway_webhook_last_attempts_refused_total{}": 1,
    "gateway_webhook_disconnected_total{}": 1,
  });
});

it("a delivery that waits for a place and those that found none are counted, by their attempt", async () => {
  const end = deferred();
  const { receiver, text } = measuredReceiver(() => end.promise, { maxConcurrentDeliveries: 1 });
  const running = receiver.receive(await delivery());
  const waiting = receiver.receive(await delivery({ id: "waits" }));
  await vi.waitFor(() => expect(text().get("gateway_webhook_waiting{}")).toBe(1));
  // Attempts begin 10 s, 35 s, 96 s and so on after the first.
  for (const [ageMs, times] of [
    [0, 3],
    [36_000, 2],
    [22_000_000, 1],
  ] as const) {
    for (let time = 0; time < times; time += 1) {
      const refused = await alarmOf(ageMs, `refused-${String(ageMs)}`);
      await receiver.receive({ ...refused, ...NO_TIME_TO_WAIT });
    }
  }
  // The default alarm is from another year.
  await receiver.receive({ ...(await delivery({ id: "old" })), ...NO_TIME_TO_WAIT });
  const found = ["1", "2", "3", "9", "10", "unknown"].map((attempt) =>
    text().get(`gateway_webhook_overloaded_total{attempt="${attempt}"}`),
  );
  expect(found).toEqual([3, 0, 2, 0, 1, 1]);
  expect(receiver.health()).toMatchObject({
    waiting: 1,
    overloaded: { "1": 3, "3": 2, "10": 1, unknown: 1 },
    reasons: [{ code: "overloaded", count: 7 }, { code: "last_attempts_refused" }],
  });
  end.resolve();
  await Promise.all([running, waiting]);
  expect(text().get("gateway_webhook_waiting{}")).toBe(0);
});

it("each secret has its matches at 0 from the start, or from its first, by 16 bits that tell it from others", async () => {
  const third = { secret: "whsec_oldest_012" };
  // A short secret has no fingerprint: guesses could be tested with it.
  const secrets = [TEST_SECRET, "whsec_short_012", third.secret];
  const names = await Promise.all(secrets.map(secretFingerprint));
  const mac = createHmac("sha256", third.secret).update("v1:fingerprint:secret:").digest("hex");
  expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{4}$/), undefined, mac.slice(0, 4)]);
  const labels = names.map((name, at) => {
    const fingerprint = name === undefined ? "" : `secret_fingerprint="${name}",`;
    return `${fingerprint}secret_index="${String(at)}"`;
  });
  const secretMatches = (series: ReadonlyMap<string, number>, type = "new_alarm") =>
    labels.map((of) => series.get(`gateway_webhook_secret_matches_total{${of},type="${type}"}`));
  const ofEvents = `gateway_webhook_secret_matches_total{secret_index="0",type="delete_my_data_event"}`;
  const perType = { new_alarm: secrets, delete_my_data_event: "whsec_events" };
  for (const [secret, known, ofShort] of [
    [secrets, 0, undefined],
    [perType, 0, 0],
    [() => secrets, undefined, 0],
  ] as const) {
    const sdk = inMemorySdk();
    const telemetry = openTelemetry({ meterProvider: sdk.meterProvider, spans: false });
    const { receiver } = recordingReceiver({ secret, telemetry });
    const text = () => parsePrometheus(metricsText(receiver));
    expect(secretMatches(text())).toEqual([known, known, known]);
    expect(text().get(ofEvents)).toBe(ofShort);
    // Later the gateway may add a type. A stranger may also send an old delivery under another type.
    await receiver.receive(await delivery({ ...third, type: "a_later_type", body: "{}" }));
    await receiver.receive(await delivery(third));
    for (const series of [text(), await sdk.series()]) {
      expect(secretMatches(series)).toEqual([known, known, 1]);
      expect(secretMatches(series, "other")).toEqual([undefined, undefined, 1]);
    }
  }
});

it("short secrets that follow each other at one place are one series: two would make the page invalid", async () => {
  let secret = "short-1";
  const { receiver } = recordingReceiver({ secret: () => secret });
  await receiver.receive(await delivery({ id: "1", secret }));
  secret = "short-2";
  await receiver.receive(await delivery({ id: "2", secret }));
  const series = /^gateway_webhook_secret_matches_total\{.*new_alarm.*$/gm;
  const line = 'gateway_webhook_secret_matches_total{secret_index="0",type="new_alarm"} 2';
  expect(metricsText(receiver).match(series)).toEqual([line]);
});

it("store calls that are asynchronous are measured, and failures are counted", async () => {
  const inner = memoryStore();
  let isDown = false;
  const { store } = spiedStore({
    claim: (...call) => Promise.resolve(inner.claim(...call)),
    complete: (...call) => (isDown ? rejects() : Promise.resolve(inner.complete(...call))),
  });
  const { receiver, text } = measuredReceiver(undefined, { store });
  text();
  await receiver.receive(await delivery({ id: "a" }));
  isDown = true;
  await receiver.receive(await delivery({ id: "b" }));
  const counted = risen(text());
  isDown = false;
  await receiver.drain();
  expect(counted).toMatchObject({
    'gateway_webhook_store_duration_seconds_count{operation="claim"}': 2,
    'gateway_webhook_store_duration_seconds_count{operation="complete"}': 2,
    'gateway_webhook_store_failures_total{operation="complete"}': 1,
    "gateway_webhook_completions_pending{}": 1,
  });
});

it("a handler that ends after its time-out is in flight until then, and a late ending then", async () => {
  const { handler, start } = heldHandler();
  const { receiver, text } = measuredReceiver(handler, { handlerTimeoutMs: 5 });
  const run = await start(receiver, await delivery());
  await run.answer;
  expect(text().get("gateway_webhook_in_flight{}")).toBe(1);
  run.resolve();
  await receiver.drain();
  expect(risen(text())).toMatchObject({
    [atAlarms("handler_timeout")]: 1,
    'gateway_webhook_late_endings_total{outcome="handled",type="new_alarm"}': 1,
  });
  expect(text().get("gateway_webhook_in_flight{}")).toBe(0);
});

it.each<[string, readonly number[], number, others?: number]>([
  ["the gateway's retries", [0, 10, 35], NOW_MS / 1000],
  ["the gateway's retries in a flood of other ids", [0, 10, 35], NOW_MS / 1000, 600],
  ["the gateway's retries of which other replicas get some", [0, 96, 617], NOW_MS / 1000],
  ["a stranger at a steady pace", [0, 60, 120, 180], 0],
  ["a proxy that tries again at once", [0, 0.1, 0.3], 0],
])(
  "refusals are told from the first one until an authentic delivery: %s",
  async (_, at, since, others = 1) => {
    let now = NOW_MS;
    const { receiver, text, exported } = measuredReceiver(() => undefined, { now: () => now });
    const name = 'gateway_webhook_refused_since_seconds{type="new_alarm"}';
    for (const seconds of at) {
      now = NOW_MS + 1000 * seconds;
      await receiver.receive(await delivery({ id: "a", secret: "another secret of 20" }));
      for (let other = 0; other < others; other++) {
        now += 5;
        const id = `other-${seconds}-${other}`;
        await receiver.receive(await delivery({ id, secret: "another secret of 20" }));
      }
    }
    expect(text().get(name)).toBe(since);
    expect((await exported()).get('gateway_webhook_refused_since{type="new_alarm"}')).toBe(since);
    await receiver.receive(await delivery({ id: "b" }));
    expect(text().get(name)).toBe(0);
  },
);
