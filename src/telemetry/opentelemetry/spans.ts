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
} from "@opentelemetry/api";
import type { OutcomeReport } from "../../answer/observers.js";
import type { JobReport, SendReport, TelemetryWork } from "../telemetry.js";
import { SPAN_ATTRIBUTES as NAMES, typeAttribute } from "./attributes.js";
import { readTraceParent, writeTraceParent } from "./trace-parent.js";

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
export interface SpanChoices {
  readonly linkJobs: "link" | "parent";
  readonly recordHandlerErrors: boolean;
}

const SYSTEM = "identity_gateway";
/** What is no failure although it is not answered 2xx: the first copy is still at work. */
const NO_FAILURES: ReadonlySet<string> = new Set(["handled", "discarded", "sent", "in_flight"]);

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
    const { id, recovered } = work;
    const type = typeAttribute(work.type);
    switch (work.kind) {
      case "delivery": {
        const attributes = attributesOf("process", id, type);
        attributes[NAMES.destination] = type;
        attributes[NAMES.bytes] = work.bytes;
        attributes[NAMES.eventType] = work.eventType;
        attributes[NAMES.recovered] = recovered;
        attributes[NAMES.takeover] = work.takeover || undefined;
        return this.#startSpan(state, `process ${type}`, { attributes });
      }
      case "send": {
        const { queueName = "queue", carrier } = work;
        const attributes = attributesOf("send", id, type);
        attributes[NAMES.queue] = queueName;
        attributes[NAMES.recovered] = recovered;
        const options = { kind: SpanKind.PRODUCER, attributes };
        const span = this.#startSpan(state, `send ${queueName}`, options);
        writeTraceParent(carrier, span.spanContext());
        return span;
      }
      case "job": {
        const attributes = attributesOf("process", id, type);
        attributes[NAMES.attempt] = work.attempt;
        attributes[NAMES.takeover] = work.takeover || undefined;
        attributes[NAMES.recovered] = recovered;
        attributes[NAMES.queue] = work.queueName;
        const name = `process ${type}`;
        const sender = readTraceParent(work.carrier);
        if (sender !== undefined && this.#choices.linkJobs === "parent") {
          const parent = trace.setSpanContext(ROOT_CONTEXT, sender);
          return this.#startSpan({ ...state, parent }, name, { attributes });
        }
        const links = sender === undefined ? [] : [{ context: sender }];
        return this.#startSpan(state, name, { attributes, root: true, links });
      }
    }
  }

  /** For work that no handler ran for, such as a duplicate, and for a handler that ended late. */
  #startAtEnd(state: SpanState, report: Report): Span {
    const type = typeAttribute(report.type);
    const attributes = attributesOf("process", report.id, type);
    if (state.kind === "delivery") attributes[NAMES.destination] = type;
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
    [NAMES.system]: SYSTEM,
    [NAMES.operation]: operation,
    [NAMES.operationName]: operation,
    [NAMES.id]: id,
    [NAMES.type]: type,
  };
}

/** What the reports of requests, writes and jobs say alike. */
type Known = Partial<Pick<OutcomeReport, "bytes" | "eventType" | "lagMs" | "late" | "recovered">> &
  Partial<Pick<OutcomeReport, "attempt" | "secretIndex" | "status" | "takeover">>;

/** What is known of a span at its end. */
function attributesAtEnd(report: Known & Report, isFailure: boolean): Attributes {
  const { lagMs } = report;
  return {
    [NAMES.outcome]: report.outcome,
    [NAMES.status]: report.status,
    [NAMES.bytes]: report.bytes,
    [NAMES.eventType]: report.eventType,
    [NAMES.secretIndex]: report.secretIndex,
    [NAMES.takeover]: report.takeover,
    [NAMES.recovered]: report.recovered,
    [NAMES.late]: report.late,
    [NAMES.attempt]: report.attempt,
    [NAMES.lag]: lagMs === undefined ? undefined : lagMs / 1000,
    [NAMES.error]: isFailure ? report.outcome : undefined,
  };
}
