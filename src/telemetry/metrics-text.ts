import { ConfigurationError, invalidOption } from "../common/errors.js";
import { ownOptions, requireMethods } from "../common/option-checks.js";
import type { WebhookResponse } from "../answer/answer.js";
import type { DurationName } from "../answer/observers.js";
import type { WebhookRequest } from "../delivery/request.js";
import { forHistograms, type HistogramMetric } from "./histogram-metrics.js";
import { combined, RECEIVER_METRICS, type Metric, type Series, type Unit } from "./metrics.js";
import { queueSeries, type QueueSeries } from "./queue-metrics.js";
import type { MeasuredReceiver, Tally } from "./tally.js";
import type { MeasuredQueue } from "./telemetry.js";

/** A receiver, as far as `metricsText` names it. */
interface Receiver {
  readonly receive: (request: WebhookRequest) => Promise<WebhookResponse>;
  /** @internal As in `WebhookReceiver`. */
  readonly internal?: object | undefined;
}

/** Options of `metricsText`. */
export interface MetricsTextOptions {
  /** The drivers of the queues that inboxes write to. Each must have the method `waiting`. */
  readonly drivers: readonly MeasuredQueue[];
}

type BucketHistogram = ReturnType<typeof bucketHistogram>;
type Histograms = Readonly<Record<DurationName, BucketHistogram>>;

/** Each receiver measures its durations from its first `metricsText` on. */
const histogramsOf = new WeakMap<Tally, Histograms>();

/**
 * The metrics of a receiver in the text format of Prometheus (version 0.0.4), for users without an
 * OpenTelemetry SDK. Serve it as `text/plain; version=0.0.4`. Counters count from the making of the receiver;
 * the histograms measure from the first call on, so call it once at the start. It holds no id and nothing
 * of a body.
 *
 * It is code of ours and not prom-client: that is six times as large (18.5 kB against 3.0, minified and
 * brotli), and would only print the numbers that the receiver has already counted.
 *
 * @throws ConfigurationError if `receiver` was not made by `createWebhookReceiver`, or wraps such a receiver
 * without its member `internal`.
 * @example
 * ```ts
 * app.get("/metrics", (_req, res) => res.type("text/plain; version=0.0.4").send(metricsText(receiver)));
 * ```
 */
export function metricsText(receiver: Receiver): string;
/**
 * The same with the queues of inboxes: how many jobs wait in each, how long the oldest one has waited, and how many are
 * dead. It asks their engines at each call. One that does not answer within 5 seconds has no series. The runs of jobs
 * are counted in `/opentelemetry` only.
 *
 * @throws ConfigurationError also if an option is invalid.
 * @example
 * ```ts
 * const text = await metricsText(receiver, { drivers: [driver] });
 * ```
 */
export function metricsText(receiver: Receiver, options: MetricsTextOptions): Promise<string>;
export function metricsText(
  receiver: Receiver,
  options?: MetricsTextOptions,
): string | Promise<string> {
  const text = receiverText(receiver);
  if (options === undefined) return text;
  const { drivers } = ownOptions("metricsText", options, ["drivers"]);
  if (!Array.isArray(drivers)) throw invalidOption("drivers must be a list of queue drivers");
  for (const driver of drivers) {
    requireMethods(driver, ["waiting"], () => "drivers: each must have the method waiting");
  }
  const linesOf = ([metric, series]: QueueSeries): string[] =>
    metricLines({ ...metric, kind: "gauge" }, series);
  return queueSeries(drivers).then((all) => text + [...all.flatMap(linesOf), ""].join("\n"));
}

function receiverText(receiver: Receiver): string {
  // Callers in JavaScript may pass anything.
  const { internal } = Object(receiver) as { readonly internal?: MeasuredReceiver };
  if (internal === undefined) {
    throw new ConfigurationError(
      "invalid_receiver",
      "metricsText needs a receiver made by createWebhookReceiver; one that wraps it must pass on its member internal",
    );
  }
  return [
    ...RECEIVER_METRICS.flatMap((metric) => metricLines(metric, combined(metric, [internal]))),
    ...Object.values(histogramsFor(internal.tally)).flatMap(histogramLines),
    "",
  ].join("\n");
}

function metricLines(
  { name, kind, unit, description }: Pick<Metric, "name" | "kind" | "unit" | "description">,
  series: readonly Series[],
): string[] {
  const full = prometheusName(name, unit) + (kind === "counter" ? "_total" : "");
  const lines = series.map(({ attributes, value }) => line(full, attributes, value));
  return [...head(full, kind, description), ...lines];
}

/** The end of a name; what is counted has none. */
const SUFFIXES: Readonly<Partial<Record<Unit, string>>> = { s: "_seconds", By: "_bytes" };

/** A name of OpenTelemetry as its specification writes it for Prometheus: underscores, then the unit. */
function prometheusName(name: string, unit: Unit): string {
  return name.replaceAll(".", "_") + (SUFFIXES[unit] ?? "");
}

function histogramsFor(tally: Tally): Histograms {
  const known = histogramsOf.get(tally);
  if (known !== undefined) return known;
  const made = forHistograms(bucketHistogram);
  histogramsOf.set(tally, made);
  tally.attach({
    record(name, seconds, attributes) {
      made[name].record(seconds, attributes);
    },
  });
  return made;
}

function histogramLines({ metric, series }: BucketHistogram): string[] {
  const { name, description, bounds } = metric;
  const full = prometheusName(name, "s");
  const lines = [...series].flatMap(([key, { counts, sum }]) => {
    const attributes = JSON.parse(key) as Record<string, string>;
    let below = 0;
    const buckets = counts.map((count, at) => {
      below += count;
      const le = String(bounds[at] ?? "+Inf");
      return line(`${full}_bucket`, { ...attributes, le }, below);
    });
    return [
      ...buckets,
      line(`${full}_sum`, attributes, sum),
      line(`${full}_count`, attributes, below),
    ];
  });
  return [...head(full, "histogram", description), ...lines];
}

function head(name: string, kind: string, description: string): string[] {
  return [`# HELP ${name} ${description}`, `# TYPE ${name} ${kind}`];
}

function line(name: string, attributes: Readonly<Record<string, string>>, value: number): string {
  const labels = Object.entries(attributes).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${labels.length === 0 ? "" : `{${labels.join(",")}}`} ${String(value)}`;
}

/** A queue has the name that its user gave it. */
function escaped(text: string): string {
  return text.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}

/** The counts of a histogram. */
interface Buckets {
  /** How many values lie in each bucket; the last one has no bound. */
  readonly counts: number[];
  sum: number;
}

/** A histogram with fixed buckets: one series for each value of an attribute, by the attributes as JSON. */
function bucketHistogram(metric: HistogramMetric) {
  const { bounds, series: known = [{}] } = metric;
  const emptyBuckets = (): Buckets => ({ counts: [...bounds, Infinity].map(() => 0), sum: 0 });
  const series = new Map(known.map((one) => [JSON.stringify(one), emptyBuckets()]));
  const only = metric.series === undefined ? series.get("{}") : undefined;
  return {
    metric,
    series,
    record(seconds: number, attributes?: Readonly<Record<string, string>>): void {
      const key = only === undefined ? JSON.stringify(attributes) : "";
      const buckets = only ?? series.get(key) ?? emptyBuckets();
      if (only === undefined) series.set(key, buckets);
      const { counts } = buckets;
      let at = 0;
      while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
      counts[at] = (counts[at] ?? 0) + 1;
      buckets.sum += seconds;
    },
  };
}
