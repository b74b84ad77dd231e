import type { DurationName } from "../answer/observers.js";
import type { WebhookOutcome } from "../answer/outcome.js";
import { STORE_CALLS, TALLIED_TYPES, type MeasuredReceiver, type TypeTally } from "./tally.js";

/** One series of a metric. Attributes are from closed sets: no id, and nothing of a body. */
export interface Series {
  readonly attributes: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A number that is read from the tallies when it is exported. */
export interface Metric {
  /** The name in OpenTelemetry. */
  readonly name: string;
  /** A counter only grows. */
  readonly kind: "counter" | "gauge";
  /** `s`, or what is counted in braces (UCUM). */
  readonly unit: string;
  readonly description: string;
  /** How the numbers of several receivers become one. Default: their sum. */
  readonly combine?: "max";
  readonly read: (receiver: MeasuredReceiver) => readonly Series[];
}

/** Outcomes of requests that are not authentic, so that they have no type. */
const WITHOUT_TYPE: ReadonlySet<string> = new Set<WebhookOutcome>([
  "reachable",
  "method_not_allowed",
  "malformed",
  "unsigned",
  "signature_mismatch",
  "body_too_large",
  "body_timeout",
  "body_consumed",
  "secret_unavailable",
  "draining",
  "internal_error",
]);

function seriesByType(read: (tally: TypeTally, type: string) => Iterable<Series>) {
  return ({ tally: { byType } }: MeasuredReceiver): readonly Series[] =>
    TALLIED_TYPES.flatMap((type) =>
      [...read(byType[type], type)].map(({ attributes, value }) => ({
        attributes: { ...attributes, type },
        value,
      })),
    );
}

function seriesOf(name: string, counts: Readonly<Record<string, number>>): Series[] {
  return Object.entries(counts).map(([key, value]) => ({ attributes: { [name]: key }, value }));
}

const single = (value: number): Series[] => [{ attributes: {}, value }];

/** Every metric of a receiver that is not a histogram. All series exist from the start, at 0. */
export const RECEIVER_METRICS: readonly Metric[] = [
  {
    name: "gateway_webhook.requests",
    kind: "counter",
    unit: "{request}",
    description: "Requests, by outcome and webhook type",
    // A series at 0 only where the outcome can occur.
    read: seriesByType(({ requests }, type) =>
      seriesOf("outcome", requests).filter(
        ({ attributes: { outcome = "" }, value }) =>
          value > 0 ||
          (type === "none") === WITHOUT_TYPE.has(outcome) ||
          (type !== "none" && outcome === "internal_error"),
      ),
    ),
  },
  {
    name: "gateway_webhook.late_endings",
    kind: "counter",
    unit: "{delivery}",
    description: "Handlers that ended after their handler_timeout, by how they ended",
    read: seriesByType(({ late }, type) => (type === "none" ? [] : seriesOf("outcome", late))),
  },
  {
    name: "gateway_webhook.handler.failures",
    kind: "counter",
    unit: "{delivery}",
    description: "Deliveries whose handler threw or timed out, by type of the Online Data event",
    read: seriesByType(({ handlerFailures }, type) =>
      type === "none" ? [] : seriesOf("event_type", handlerFailures),
    ),
  },
  {
    name: "gateway_webhook.last_authentic",
    kind: "gauge",
    unit: "s",
    combine: "max",
    description: "When the last authentic delivery came, in Unix seconds; 0: none since the start",
    read: seriesByType(({ lastAuthenticMs }, type) =>
      type === "none" ? [] : single(lastAuthenticMs / 1000),
    ),
  },
  {
    name: "gateway_webhook.last_acknowledged",
    kind: "gauge",
    unit: "s",
    combine: "max",
    description:
      "When the last delivery was answered 2xx, in Unix seconds; 0: none since the start",
    read: seriesByType(({ lastAcknowledgedMs }, type) =>
      type === "none" ? [] : single(lastAcknowledgedMs / 1000),
    ),
  },
  {
    name: "gateway_webhook.in_flight",
    kind: "gauge",
    unit: "{request}",
    description: "Requests being received, and handlers that go on after handler_timeout",
    read: ({ inFlight }) => single(inFlight()),
  },
  {
    name: "gateway_webhook.completions.pending",
    kind: "gauge",
    unit: "{delivery}",
    description: "Handled deliveries that the store has not remembered yet",
    read: ({ completionsPending }) => single(completionsPending()),
  },
  {
    name: "gateway_webhook.disconnected",
    kind: "counter",
    unit: "{request}",
    description: "Requests whose sender had hung up before the answer",
    read: ({ tally }) => single(tally.events.disconnected),
  },
  {
    name: "gateway_webhook.recovered",
    kind: "counter",
    unit: "{delivery}",
    description: "Deliveries that recoverDelivery was called for",
    read: ({ tally }) => single(tally.events.recovered),
  },
  {
    name: "gateway_webhook.last_attempts_refused",
    kind: "counter",
    unit: "{delivery}",
    description: "Alarms refused at what was probably the gateway's last attempt: probably lost",
    read: ({ tally }) => single(tally.events.lastAttemptsRefused),
  },
  {
    name: "gateway_webhook.secret.matches",
    kind: "counter",
    unit: "{request}",
    description: "Authentic requests by the index of the secret that matched, from 0",
    read: seriesByType(({ secretMatches }, type) =>
      type === "none" ? [] : seriesOf("secret_index", Object.fromEntries(secretMatches.entries())),
    ),
  },
  {
    name: "gateway_webhook.store.failures",
    kind: "counter",
    unit: "{call}",
    description: "Store calls that failed or took too long, by operation",
    read: ({ tally }) => seriesOf("operation", tally.storeFailures),
  },
  {
    name: "gateway_webhook.drift",
    kind: "counter",
    unit: "{delivery}",
    description: "Deliveries with a field or enum value that the gateway's document does not list",
    read: ({ tally }) => single(tally.events.drifted),
  },
];

/** A histogram of durations in seconds. */
export interface HistogramMetric {
  readonly name: string;
  readonly description: string;
  /** Upper bounds of the buckets. */
  readonly bounds: readonly number[];
  /** The attributes of its series; undefined if it has none. */
  readonly series?: readonly Readonly<Record<string, string>>[];
}

const DURATION_BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300, 900,
];

/** The histograms. They have no attributes but `operation`: one attribute costs 0.5 µs a record in the SDK. */
export const HISTOGRAMS: Readonly<Record<DurationName, HistogramMetric>> = {
  receive: {
    name: "gateway_webhook.receive.duration",
    bounds: DURATION_BOUNDS,
    description: "From the arrival of an authentic delivery to its answer",
  },
  handler: {
    name: "gateway_webhook.handler.duration",
    bounds: DURATION_BOUNDS,
    description: "From the call of a handler until it settled",
  },
  lag: {
    name: "gateway_webhook.delivery.lag",
    description: "From created_at of an alarm to the signed timestamp",
    // Between the attempts of the gateway's schedule, and its limits of 4, 12, 24 and 36 hours.
    bounds: [
      5, 10, 35, 100, 260, 630, 1_600, 3_900, 9_700, 14_400, 24_000, 43_200, 86_400, 129_600,
    ],
  },
  store: {
    name: "gateway_webhook.store.duration",
    bounds: DURATION_BOUNDS,
    description: "Asynchronous calls of the store, by operation",
    series: STORE_CALLS.map((operation) => ({ operation })),
  },
};

/** Makes one thing for each histogram. */
export function forHistograms<Made>(
  make: (metric: HistogramMetric) => Made,
): Readonly<Record<DurationName, Made>> {
  const { receive, handler, lag, store } = HISTOGRAMS;
  return { receive: make(receive), handler: make(handler), lag: make(lag), store: make(store) };
}
