import { createTraceState, isSpanContextValid, type SpanContext } from "@opentelemetry/api";
import type { TraceCarrier } from "../telemetry.js";

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Writes the place of a span into a job, as W3C Trace Context. Not by the propagator of the SDK, which may
 * write another format, or baggage.
 */
export function writeTraceParent(carrier: TraceCarrier, context: SpanContext): void {
  if (!isSpanContextValid(context)) return;
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  carrier.traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  const state = context.traceState?.serialize() ?? "";
  if (state !== "") carrier.tracestate = state;
}

/** The span that wrote a job; undefined if the job does not tell. */
export function readTraceParent({
  traceparent = "",
  tracestate,
}: TraceCarrier): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(traceparent) ?? [];
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(context) ? context : undefined;
}
