import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** A reader that is asked, and exports nothing by itself. */
class AskedReader extends MetricReader {
  protected override onForceFlush = () => Promise.resolve();
  protected override onShutdown = () => Promise.resolve();
}

/** A tracer provider and a meter provider of the real SDK, which keep everything in memory. */
export function inMemorySdk() {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const reader = new AskedReader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  /** What the Prometheus exporter of OpenTelemetry serves. */
  async function prometheusText(): Promise<string> {
    const { resourceMetrics } = await reader.collect();
    // It has its own copy of the types.
    const serializer: { serialize(metrics: object): string } = new PrometheusSerializer(
      ...(["", false, undefined, true, true] as const),
    );
    return serializer.serialize(resourceMetrics);
  }
  return {
    tracerProvider,
    meterProvider,
    tracer: tracerProvider.getTracer("test"),
    spans: () => exporter.getFinishedSpans(),
    reset: () => exporter.reset(),
    collect: async () => (await reader.collect()).resourceMetrics,
    prometheusText,
    /** The series of what the Prometheus exporter serves. */
    series: async () => parsePrometheus(await prometheusText()),
  };
}

/** Lets spans be active across promises, as an SDK does. Returns a function that ends it. */
export function enableContext(): () => void {
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  return () => {
    context.disable();
    trace.disable();
    metrics.disable();
  };
}

/** The series of a text in the format of Prometheus, by name and labels in order. */
export function parsePrometheus(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", labels = "", value = ""] =
      /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === "") throw new Error(`not in the format of Prometheus: ${line}`);
    const sorted = Array.from(labels.matchAll(/([a-z_]+)="([^"]*)"/g), ([one]) => one).sort();
    series.set(`${name}{${sorted.join(",")}}`, value === "+Inf" ? Infinity : Number(value));
  }
  return series;
}
