import { HISTOGRAMS } from "../src/telemetry/histogram-metrics.js";
import { createSecretKey } from "../src/signature/secrets.js";
import { RECEIVER_METRICS } from "../src/telemetry/metrics.js";
import { QUEUE_METRICS } from "../src/telemetry/queue-metrics.js";
import { JOB_METRICS, JobTally } from "../src/telemetry/opentelemetry/instruments.js";
import { SPAN_ATTRIBUTES } from "../src/telemetry/opentelemetry/spans.js";
import { Tally } from "../src/telemetry/tally.js";

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly unit: string;
  readonly attributes: readonly string[];
  readonly description: string;
}

/** Every metric, and the attributes of its series. */
export function metricRows(): readonly Row[] {
  const tally = new Tally({ known: () => [createSecretKey("a-secret-of-16-characters", 0)] });
  const receiver = {
    tally,
    startedAtMs: () => 0,
    refusedSinceMs: () => 0,
    inFlight: () => 0,
    waiting: () => 0,
    completionsPending: () => 0,
    handlers: { new_alarm: 0, delete_my_data_event: 0 },
  };
  const namesOf = (series: readonly { readonly attributes: object }[]) =>
    Object.keys(series[0]?.attributes ?? {});
  return [
    ...RECEIVER_METRICS.map((one) => ({ ...one, attributes: namesOf(one.read(receiver)) })),
    ...Object.values(HISTOGRAMS).map((one) => ({
      ...one,
      kind: "histogram",
      unit: "s",
      attributes: Object.keys(one.series?.[0] ?? {}),
    })),
    ...JOB_METRICS.map((one) => ({
      ...one,
      kind: "counter",
      attributes: namesOf(one.read(new JobTally())),
    })),
    ...QUEUE_METRICS.map((one) => ({ ...one, kind: "gauge" })),
  ];
}

/** The page with its tables made anew between their marks. */
export function monitoringPage(written: string): string {
  const metrics = [
    "| metric | kind, unit | attributes | what |",
    "| --- | --- | --- | --- |",
    ...metricRows().map(
      ({ name, kind, unit, attributes, description }) =>
        `| \`${name}\` | ${unit.startsWith("{") ? kind : `${kind}, ${unit}`} | ${attributes.join(", ")} | ${description} |`,
    ),
  ];
  const attributes = Object.values(SPAN_ATTRIBUTES).map((name) => `\`${name}\``);
  const parts: readonly (readonly [string, string])[] = [
    ["metrics", metrics.join("\n")],
    ["attributes", `${attributes.join(", ")}.`],
  ];
  return parts.reduce((page, [mark, text]) => {
    const pattern = new RegExp(`<!-- ${mark} -->[^]*?<!-- /${mark} -->`);
    return page.replace(pattern, () => `<!-- ${mark} -->\n\n${text}\n\n<!-- /${mark} -->`);
  }, written);
}
