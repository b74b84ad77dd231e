import { SpanStatusCode, trace } from "@opentelemetry/api";
import { openTelemetry } from "identity-gateway-webhooks/opentelemetry";

// Not an SDK: each of them allows the API only up to the minor version that it knows.
const spans = [];
const startSpan = (name) => {
  const span = trace.wrapSpanContext({
    traceId: "1".repeat(32),
    spanId: "2".repeat(16),
    traceFlags: 1,
  });
  span.end = () => spans.push(name);
  return span;
};

export const telemetry = openTelemetry({ tracerProvider: { getTracer: () => ({ startSpan }) } });
export const proven = () => SpanStatusCode.UNSET === 0 && spans.includes("process new_alarm");
