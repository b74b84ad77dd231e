import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { openTelemetry, type WebhookTelemetry } from "identity-gateway-webhooks/opentelemetry";
import type { IncomingMessage, ServerResponse } from "node:http";

/** What a process shows to Prometheus, as an app sets it up. */
export interface Measured {
  /** For the receiver, the inbox and the worker. */
  readonly telemetry: WebhookTelemetry;
  /** Answers `GET /metrics`. */
  readonly serveMetrics: (req: IncomingMessage, res: ServerResponse) => void;
}

/** Metrics that begin at 0, as those of a new process. */
export function newMetrics(): Measured {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  return {
    telemetry: openTelemetry({ meterProvider, spans: false }),
    serveMetrics: (req, res) => {
      exporter.getMetricsRequestHandler(req, res);
    },
  };
}
