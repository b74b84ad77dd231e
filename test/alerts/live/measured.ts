import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { openTelemetry } from "identity-gateway-webhooks/opentelemetry";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Metrics that begin at 0, as those of a new process. */
export function newMetrics() {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  return {
    /** For the receiver, the inbox and the worker. */
    telemetry: openTelemetry({ meterProvider, spans: false }),
    /** Answers `GET /metrics`. */
    serveMetrics: (req: IncomingMessage, res: ServerResponse) => {
      exporter.getMetricsRequestHandler(req, res);
    },
  };
}
