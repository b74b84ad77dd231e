import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  createTraceState,
  isSpanContextValid,
} from "@opentelemetry/api";
import type { OutcomeReport } from "../../answer/observers.js";
import type { JobReport, SendReport, TelemetryWork, TraceCarrier } from "../telemetry.js";
import { typeLabel } from "../../delivery/headers.js";

/** A piece of work that may get a span. Forged requests end without one. */
export interface SpanState {
  readonly kind: TelemetryWork["kind"];
  /** What was active when the work began, such as the span of the HTTP server. */
  readonly parent: Context;
  /** When the work began, or its late part: by `Date.now()` and by `performance.now()`. */
  startMs: number;
  mark: number;
  span: Span | undefined;
  /** The span of the part that has ended, for a late ending. */
  ended: SpanContext | undefined;
}

type Report = OutcomeReport | SendReport | JobReport;

/** Options of `Spans`. */
interface SpanChoices {
  readonly linkJobs: "link" | "parent";
  readonly recordHandlerErrors: boolean;
}

const SYSTEM = "identity_gateway";
/** What is no failure although it is not answered 2xx: the first copy is still at work. */
const NO_FAILURES: ReadonlySet<string> = new Set(
  "handled discarded unhandled sent in_flight".split(" "),
);

/** Makes a span for each authentic delivery, each write of a job and each run of a job. */
export class Spans {
  readonly #tracer: Tracer;
  readonly #choices: SpanChoices;

  constructor(tracer: Tracer, choices: SpanChoices) {
    this.#tracer = tracer;
    this.#choices = choices;
  }

  begin(kind: SpanState["kind"]): SpanState {
    const mark = performance.now();
    return {
      kind,
      parent: context.active(),
      startMs: Date.now(),
      mark,
      span: undefined,
      ended: undefined,
    };
  }

  /** Calls `call` while the span of the work is active. */
  run<Result>(state: SpanState, work: TelemetryWork, call: () => Result): Result {
    // A transactional store may run the same work again.
    const span = (state.span ??= this.#start(state, work));
    return context.with(trace.setSpan(state.parent, span), call);
  }

  end(state: SpanState, report: Report): void {
    // Without an id the request is not authentic. A flood of forgeries must not fill a tracing bill.
    if (report.id === undefined) return;
    const span = state.span ?? this.#startAtEnd(state, report);
    const { outcome } = report;
    const isFailure = !NO_FAILURES.has(outcome) && !("status" in report && report.status < 300);
    if (span.isRecording()) {
      span.setAttributes(attributesAtEnd(report, isFailure));
    }
    // Without a message: that of an error may hold personal data.
    if (isFailure) span.setStatus({ code: SpanStatusCode.ERROR });
    if (this.#choices.recordHandlerErrors && report.error instanceof Error) {
      span.recordException(report.error);
    }
    const endMs = state.startMs + performance.now() - state.mark;
    span.end(endMs);
    // A second report comes if the handler ends late.
    state.ended = span.spanContext();
    state.span = undefined;
    state.mark = performance.now();
    state.startMs = endMs;
  }

  #start(state: SpanState, work: TelemetryWork): Span {
    const type = typeAttribute(work.type);
    const name = `process ${type}`;
    const attributes = attributesOf(work.kind === "send" ? "send" : "process", work.id, type);
    attributes[SPAN_ATTRIBUTES.recovered] = work.recovered;
    if (work.kind === "send") {
      const { queueName = "queue", carrier } = work;
      attributes[SPAN_ATTRIBUTES.queue] = queueName;
      const options = { kind: SpanKind.PRODUCER, attributes };
      const span = this.#startSpan(state, `send ${queueName}`, options);
      writeTraceParent(carrier, span.spanContext());
      return span;
    }
    attributes[SPAN_ATTRIBUTES.takeover] = work.takeover || undefined;
    if (work.kind === "delivery") {
      attributes[SPAN_ATTRIBUTES.destination] = type;
      attributes[SPAN_ATTRIBUTES.bytes] = work.bytes;
      attributes[SPAN_ATTRIBUTES.eventType] = work.eventType;
      return this.#startSpan(state, name, { attributes });
    }
    attributes[SPAN_ATTRIBUTES.attempt] = work.attempt;
    attributes[SPAN_ATTRIBUTES.queue] = work.queueName;
    const sender = readTraceParent(work.carrier);
    if (sender !== undefined && this.#choices.linkJobs === "parent") {
      const parent = trace.setSpanContext(ROOT_CONTEXT, sender);
      return this.#startSpan({ ...state, parent }, name, { attributes });
    }
    const links = sender === undefined ? [] : [{ context: sender }];
    return this.#startSpan(state, name, { attributes, root: true, links });
  }

  /** For work that no handler ran for, such as a duplicate, and for a handler that ended late. */
  #startAtEnd(state: SpanState, report: Report): Span {
    const type = typeAttribute(report.type);
    const attributes = attributesOf("process", report.id, type);
    if (state.kind === "delivery") attributes[SPAN_ATTRIBUTES.destination] = type;
    const links = state.ended === undefined ? [] : [{ context: state.ended }];
    const root = state.kind === "job";
    return this.#startSpan(state, `process ${type}`, { attributes, root, links });
  }

  #startSpan({ startMs, parent }: SpanState, name: string, options: SpanOptions): Span {
    options.kind ??= SpanKind.CONSUMER;
    options.startTime = startMs;
    return this.#tracer.startSpan(name, options, parent);
  }
}

/** What every span has from its start. */
function attributesOf(
  operation: "process" | "send",
  id: string | undefined,
  type: string,
): Attributes {
  return {
    [SPAN_ATTRIBUTES.system]: SYSTEM,
    [SPAN_ATTRIBUTES.operation]: operation,
    [SPAN_ATTRIBUTES.operationName]: operation,
    [SPAN_ATTRIBUTES.id]: id,
    [SPAN_ATTRIBUTES.type]: type,
  };
}

/** What the reports of requests, writes and jobs say alike. */
type Known = Partial<Pick<OutcomeReport, "bytes" | "eventType" | "lagMs" | "late" | "recovered">> &
  Partial<Pick<OutcomeReport, "attempt" | "secretIndex" | "status" | "takeover">>;

/** What is known of a span at its end. */
function attributesAtEnd(report: Known & Report, isFailure: boolean): Attributes {
  const { lagMs } = report;
  return {
    [SPAN_ATTRIBUTES.outcome]: report.outcome,
    [SPAN_ATTRIBUTES.status]: report.status,
    [SPAN_ATTRIBUTES.bytes]: report.bytes,
    [SPAN_ATTRIBUTES.eventType]: report.eventType,
    [SPAN_ATTRIBUTES.secretIndex]: report.secretIndex,
    [SPAN_ATTRIBUTES.takeover]: report.takeover,
    [SPAN_ATTRIBUTES.recovered]: report.recovered,
    [SPAN_ATTRIBUTES.late]: report.late,
    [SPAN_ATTRIBUTES.attempt]: report.attempt,
    [SPAN_ATTRIBUTES.lag]: lagMs === undefined ? undefined : lagMs / 1000,
    [SPAN_ATTRIBUTES.error]: isFailure ? report.outcome : undefined,
  };
}

/**
 * Every attribute that a span may have, with its name in OpenTelemetry. Nothing else is exported: no body,
 * no account id, no signature, no secret and no other header.
 */
export const SPAN_ATTRIBUTES = {
  /** Always `identity_gateway`. */
  system: "messaging.system",
  /** `process` or `send`. */
  operation: "messaging.operation.type",
  /** As `messaging.operation.type`. */
  operationName: "messaging.operation.name",
  /** The name of the queue of a job; `queue` if it is not known at the write. */
  queue: "messaging.destination.name",
  /** The webhook type of a delivery, or `other`. */
  destination: "messaging.destination.template",
  /** X-Webhook-Id. On no metric. */
  id: "messaging.message.id",
  /** Bytes of the body. */
  bytes: "messaging.message.body.size",
  /** What became of the delivery, of the write or of the job. */
  outcome: "gateway_webhook.outcome",
  /** The webhook type, or `other`. */
  type: "gateway_webhook.type",
  /** The documented type of an Online Data event, or `other`. */
  eventType: "gateway_webhook.event_type",
  /** Index of the secret that matched, from 0. */
  secretIndex: "gateway_webhook.secret_index",
  /** True if an earlier run may have had its effect. */
  takeover: "gateway_webhook.takeover",
  /** True if `recoverDelivery` was called for it, and the gateway did not send it. */
  recovered: "gateway_webhook.recovered",
  /** True if the handler ended after `handler_timeout`. */
  late: "gateway_webhook.late",
  /** Seconds that the gateway has been trying. */
  lag: "gateway_webhook.lag",
  /** Which of the gateway's attempts this probably is, from 1; for a job its own attempt. */
  attempt: "gateway_webhook.attempt",
  /** The status that was answered. */
  status: "http.response.status_code",
  /** The outcome, if it is no success. */
  error: "error.type",
} as const;

/** A type as spans name it: anyone who knows a secret may send any, so only documented ones are named. */
function typeAttribute(type: string | undefined): string {
  return type === undefined ? "other" : typeLabel(type);
}

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
