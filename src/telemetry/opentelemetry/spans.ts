import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
} from "@opentelemetry/api";
import type { OutcomeReport } from "../../answer/observers.js";
import type { JobReport } from "../telemetry.js";
import type { SendReport, TelemetryWork } from "../telemetry.js";
import { attributesOf, typeAttribute } from "./attributes.js";
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
      const error = isFailure ? outcome : undefined;
      // A span has its id and type from the start.
      const values = { ...report, id: undefined, type: undefined, lag: lagOf(report), error };
      span.setAttributes(attributesOf(values));
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
    const { id, type } = work;
    const common = { system: SYSTEM, id, type: typeAttribute(type) };
    switch (work.kind) {
      case "delivery": {
        const { bytes, eventType, recovered, takeover } = work;
        const values = { ...common, bytes, eventType, recovered, takeover: takeover || undefined };
        return this.#startSpan(state, "process", { ...values, destination: common.type });
      }
      case "send": {
        const { queueName: queue = "queue", recovered } = work;
        const span = this.#startSpan(state, "send", { ...common, queue, recovered });
        writeTraceParent(work.carrier, span.spanContext());
        return span;
      }
      case "job": {
        const { attempt, takeover, recovered, queueName: queue } = work;
        const sender = readTraceParent(work.carrier);
        const job = { attempt, takeover: takeover || undefined, recovered, queue };
        const values = { ...common, ...job };
        if (sender === undefined) return this.#startSpan(state, "process", values, { root: true });
        if (this.#choices.linkJobs === "link") {
          const links = [{ context: sender }];
          return this.#startSpan(state, "process", values, { root: true, links });
        }
        const parent = trace.setSpanContext(ROOT_CONTEXT, sender);
        return this.#startSpan({ ...state, parent }, "process", values);
      }
    }
  }

  /** For work that no handler ran for, such as a duplicate, and for a handler that ended late. */
  #startAtEnd(state: SpanState, report: Report): Span {
    const { id, type } = report;
    const common = { system: SYSTEM, id, type: typeAttribute(type) };
    const destination = state.kind === "delivery" ? common.type : undefined;
    const links = state.ended === undefined ? [] : [{ context: state.ended }];
    const options = { root: state.kind === "job", links };
    return this.#startSpan(state, "process", { ...common, destination }, options);
  }

  #startSpan(
    { startMs, parent }: SpanState,
    operation: "process" | "send",
    values: Parameters<typeof attributesOf>[0],
    options: SpanOptions = {},
  ): Span {
    const attributes = attributesOf({ ...values, operation, operationName: operation });
    const isSend = operation === "send";
    const kind = isSend ? SpanKind.PRODUCER : SpanKind.CONSUMER;
    const name = `${operation} ${String(isSend ? values.queue : values.type)}`;
    return this.#tracer.startSpan(
      name,
      { ...options, kind, startTime: startMs, attributes },
      parent,
    );
  }
}

/** In seconds; undefined if it is not known. */
function lagOf(report: Report): number | undefined {
  const lagMs = "lagMs" in report ? report.lagMs : undefined;
  return lagMs === undefined ? undefined : lagMs / 1000;
}
