import {
  context,
  metrics,
  trace,
  type MeterProvider,
  type TracerProvider,
} from "@opentelemetry/api";
import type { Log } from "../../answer/logger.js";
import { invalidOption } from "../../common/errors.js";
import { missingMethod, ownOptions, unsupportedVersion } from "../../common/option-checks.js";
import { startBackgroundTimer } from "../../common/timers.js";
import type { MeasuredReceiver } from "../tally.js";
import type { InternalTelemetry, WebhookTelemetry } from "../telemetry.js";
import { Instruments, SCOPE } from "./instruments.js";
import { hasMeterProvider, hasTracerProvider, secondCopyWarning } from "./registered-api.js";
import { Spans, type SpanState } from "./spans.js";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Makes the spans. Default: the one that your SDK has registered globally. */
  tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: the one that your SDK has registered globally. */
  meterProvider?: MeterProvider | undefined;
  /** `false`: only metrics. Default true. */
  spans?: boolean | undefined;
  /**
   * How the span of a job refers to the span that wrote the job. `"link"` (default): it begins a trace of
   * its own, with a link. `"parent"`: it belongs to the trace of the delivery, which then lasts until the job
   * has run.
   */
  linkJobs?: "link" | "parent" | undefined;
  /**
   * `true`: what a handler throws is recorded on its span, with message and stack. They may hold personal
   * data. Default false: only the outcome is.
   */
  recordHandlerErrors?: boolean | undefined;
}

/** The names of all options. */
export const OPTION_NAMES = [
  "tracerProvider",
  "meterProvider",
  "spans",
  "linkJobs",
  "recordHandlerErrors",
];
/** The API keeps no place for a meter provider that comes later, so we look again, in milliseconds. */
const LOOK_AGAIN_MS = [0, 1_000, 10_000];

/** What the parts of the API are called for. */
const API_METHODS: readonly (readonly [part: object, methods: readonly string[]])[] = [
  [trace, ["getTracer", "getTracerProvider", "setSpan", "setSpanContext"]],
  [metrics, ["getMeterProvider"]],
  [context, ["active", "with"]],
];

/** Two instruments of one name hide each other, so all telemetry of a provider shares its instruments. */
const instrumentsOf = new WeakMap<MeterProvider, Instruments>();

/**
 * Spans and metrics of deliveries and jobs, by the OpenTelemetry API. Pass one to the receiver, to `inbox` and
 * to the workers. Needs the peer `@opentelemetry/api`, and does nothing without an SDK.
 *
 * An authentic delivery has a span `process <type>`, a child of the active span (of the HTTP server), which is
 * active while the handler runs; one of no handler, such as a duplicate, has it too. A forged request has
 * none. Writing a job has a span `send <queue>`; the run of a job begins a new trace with a link to it. The
 * header `traceparent` of a delivery is not signed and never read here.
 *
 * Attributes and metrics hold no part of a body, no account id and no secret; docs/monitoring.md lists them.
 *
 * @throws ConfigurationError if an option is invalid, and (`unsupported_version`) for an `@opentelemetry/api`
 * that cannot work.
 * @example
 * ```ts
 * const telemetry = openTelemetry();
 * const receiver = createWebhookReceiver({ secret, handlers, telemetry });
 * ```
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): WebhookTelemetry {
  const own = ownOptions("openTelemetry", options, OPTION_NAMES);
  const { tracerProvider, meterProvider, spans = true } = own;
  const { linkJobs = "link", recordHandlerErrors = false } = own;
  for (const [part, methods] of API_METHODS) {
    const missing = missingMethod(part, methods);
    if (missing === undefined) continue;
    const found = `a version of @opentelemetry/api without the method ${missing}`;
    throw unsupportedVersion("openTelemetry", found, "@opentelemetry/api 1.9 and later");
  }
  check("tracerProvider", "getTracer", tracerProvider);
  check("meterProvider", "getMeter", meterProvider);
  for (const [name, value] of Object.entries({ spans, recordHandlerErrors })) {
    if (typeof value !== "boolean") throw invalidOption(`${name} must be true or false`);
  }
  if (!["link", "parent"].includes(linkJobs))
    throw invalidOption('linkJobs must be "link" or "parent"');
  return new OpenTelemetry(own, spans ? { linkJobs, recordHandlerErrors } : undefined);
}

class OpenTelemetry implements WebhookTelemetry<SpanState | undefined> {
  readonly internal: InternalTelemetry;
  readonly #spans: Spans | undefined;
  /** Whether the spans are those of the registered SDK. */
  readonly #isGlobal: boolean;
  readonly #meterProvider: MeterProvider | undefined;
  /** Undefined until there is a meter provider. */
  #instruments: Instruments | undefined;
  /** Receivers and queues that came before the meter provider. */
  readonly #waiting: ((instruments: Instruments) => void)[] = [];
  #hasWarned = false;

  constructor(
    { tracerProvider, meterProvider }: OpenTelemetryOptions,
    choices: ConstructorParameters<typeof Spans>[1] | undefined,
  ) {
    this.#meterProvider = meterProvider;
    this.#isGlobal = tracerProvider === undefined;
    // The global tracer provider is a proxy, so an SDK may come later.
    const tracer = (tracerProvider ?? trace).getTracer(SCOPE);
    this.#spans = choices === undefined ? undefined : new Spans(tracer, choices);
    this.internal = {
      connectReceiver: (receiver, log) => this.#connect(receiver, log),
      connectQueue: (queue) => {
        this.#withInstruments((instruments) => instruments.connectQueue(queue));
      },
      seesDeliveries: choices !== undefined,
    };
    this.#findInstruments();
  }

  begin(kind: SpanState["kind"]): SpanState | undefined {
    // Spans of no SDK would take as long as all of a delivery.
    if (this.#isGlobal && !hasTracerProvider()) return undefined;
    return this.#spans?.begin(kind);
  }

  run<Result>(
    state: SpanState | undefined,
    work: Parameters<WebhookTelemetry["run"]>[1],
    call: () => Result,
  ): Result {
    return state === undefined || this.#spans === undefined
      ? call()
      : this.#spans.run(state, work, call);
  }

  end(state: SpanState | undefined, report: Parameters<WebhookTelemetry["end"]>[1]): void {
    if ("lastAttempt" in report) {
      this.#findInstruments();
      this.#instruments?.countJob(report);
    }
    if (state !== undefined) this.#spans?.end(state, report);
  }

  #connect(receiver: MeasuredReceiver, log: Log): void {
    this.#withInstruments((instruments) => instruments.connect(receiver));
    this.#warnOfSecondCopy(log);
    if (this.#instruments !== undefined) return;
    for (const ms of LOOK_AGAIN_MS) {
      startBackgroundTimer(ms, () => {
        this.#findInstruments();
        this.#warnOfSecondCopy(log);
      });
    }
  }

  /** Calls `connect` now, or as soon as there is a meter provider. */
  #withInstruments(connect: (instruments: Instruments) => void): void {
    this.#findInstruments();
    if (this.#instruments === undefined) this.#waiting.push(connect);
    else connect(this.#instruments);
  }

  #findInstruments(): void {
    if (this.#instruments !== undefined) return;
    if (this.#meterProvider === undefined && !hasMeterProvider()) return;
    const provider = this.#meterProvider ?? metrics.getMeterProvider();
    const instruments = instrumentsOf.get(provider) ?? new Instruments(provider);
    instrumentsOf.set(provider, instruments);
    this.#instruments = instruments;
    for (const connect of this.#waiting.splice(0)) connect(instruments);
  }

  #warnOfSecondCopy(log: Log): void {
    const warning = this.#hasWarned ? undefined : secondCopyWarning();
    if (warning === undefined) return;
    this.#hasWarned = true;
    log.warn(warning);
  }
}

function check(name: string, method: string, provider: object | undefined): void {
  if (provider === undefined || missingMethod(provider, [method]) === undefined) return;
  throw invalidOption(`${name} must have the method ${method}`);
}
