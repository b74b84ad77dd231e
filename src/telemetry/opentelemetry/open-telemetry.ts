import {
  booleanOption,
  requireMethods,
  missingMethod,
  ownOptions,
  unsupportedVersion,
} from "../../common/option-checks.js";
import {
  context,
  metrics,
  trace,
  type MeterProvider,
  type TracerProvider,
} from "@opentelemetry/api";
import type { Log } from "../../answer/logger.js";
import { invalidOption } from "../../common/errors.js";
import { startBackgroundTimer } from "../../common/timers.js";
import type { InternalTelemetry, WebhookTelemetry } from "../telemetry.js";
import { Instruments, SCOPE } from "./instruments.js";
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
  const { tracerProvider, meterProvider, linkJobs = "link" } = own;
  for (const [part, methods] of API_METHODS) {
    const missing = missingMethod(part, methods);
    if (missing === undefined) continue;
    const found = `a version of @opentelemetry/api without the method ${missing}`;
    throw unsupportedVersion("openTelemetry", found, "@opentelemetry/api 1.9 and later");
  }
  check("tracerProvider", "getTracer", tracerProvider);
  check("meterProvider", "getMeter", meterProvider);
  const spans = booleanOption("spans", own.spans, true);
  const recordHandlerErrors = booleanOption("recordHandlerErrors", own.recordHandlerErrors, false);
  if (!["link", "parent"].includes(linkJobs))
    throw invalidOption('linkJobs must be "link" or "parent"');
  return telemetryOf(own, spans ? { linkJobs, recordHandlerErrors } : undefined);
}

function telemetryOf(
  { tracerProvider, meterProvider }: OpenTelemetryOptions,
  choices: ConstructorParameters<typeof Spans>[1] | undefined,
): WebhookTelemetry<SpanState | undefined> {
  // The global tracer provider is a proxy, so an SDK may come later.
  const tracer = (tracerProvider ?? trace).getTracer(SCOPE);
  const spans = choices === undefined ? undefined : new Spans(tracer, choices);
  /** Undefined until there is a meter provider. */
  let instruments: Instruments | undefined;
  /** Receivers and queues that came before the meter provider. */
  const waiting: ((found: Instruments) => void)[] = [];
  let hasWarned = false;

  const findInstruments = (): void => {
    if (instruments !== undefined) return;
    if (meterProvider === undefined && !hasMeterProvider()) return;
    const provider = meterProvider ?? metrics.getMeterProvider();
    const found = instrumentsOf.get(provider) ?? new Instruments(provider);
    instrumentsOf.set(provider, found);
    instruments = found;
    for (const connect of waiting.splice(0)) connect(found);
  };
  /** Calls `connect` now, or as soon as there is a meter provider. */
  const withInstruments = (connect: (found: Instruments) => void): void => {
    findInstruments();
    if (instruments === undefined) waiting.push(connect);
    else connect(instruments);
  };
  const warnOfSecondCopy = (log: Log): void => {
    const warning = hasWarned ? undefined : secondCopyWarning();
    if (warning === undefined) return;
    hasWarned = true;
    log.warn(warning);
  };

  const internal: InternalTelemetry = {
    connectReceiver(receiver, log) {
      withInstruments((found) => found.connect(receiver));
      warnOfSecondCopy(log);
      if (instruments !== undefined) return;
      for (const ms of LOOK_AGAIN_MS) {
        startBackgroundTimer(ms, () => {
          findInstruments();
          warnOfSecondCopy(log);
        });
      }
    },
    connectQueue: (queue) => withInstruments((found) => found.connectQueue(queue)),
    seesDeliveries: choices !== undefined,
  };
  findInstruments();
  return {
    internal,
    begin(kind) {
      // Spans of no SDK would take as long as all of a delivery.
      if (tracerProvider === undefined && !hasTracerProvider()) return undefined;
      return spans?.begin(kind);
    },
    run: (state, work, call) =>
      state === undefined || spans === undefined ? call() : spans.run(state, work, call),
    end(state, report) {
      if ("lastAttempt" in report) {
        findInstruments();
        instruments?.countJob(report);
      }
      if (state !== undefined) spans?.end(state, report);
    },
  };
}

function check(name: string, method: string, provider: object | undefined): void {
  if (provider !== undefined) {
    requireMethods(provider, [method], () => `${name} must have the method ${method}`);
  }
}

/** Where each copy of `@opentelemetry/api` puts what an SDK registers, one symbol for each major version. */
const API_SYMBOL = /^opentelemetry\.js\.api\.(\d+)$/;

interface RegisteredApi {
  readonly version?: unknown;
  readonly trace?: unknown;
  readonly metrics?: unknown;
}

/** Whether an SDK has registered a meter provider with our copy of the API. */
function hasMeterProvider(): boolean {
  return registered().some(
    ({ metrics: ours }) => ours !== undefined && ours === metrics.getMeterProvider(),
  );
}

const OUR_API = Symbol.for("opentelemetry.js.api.1");

/** Whether an SDK has registered a tracer provider. Cheap, since each request asks. */
function hasTracerProvider(): boolean {
  const api = (globalThis as { readonly [OUR_API]?: RegisteredApi })[OUR_API];
  return api?.trace !== undefined;
}

/**
 * The warning about an SDK that is registered with a copy of the API other than ours, which then does
 * nothing without a word; undefined if there is none. A newer minor version of the API does not use what an older one
 * has registered, and a major version does not know another one.
 */
function secondCopyWarning(): string | undefined {
  const stranger = registered().find(
    (api) =>
      (api.trace !== undefined && api.trace !== trace.getTracerProvider()) ||
      (api.metrics !== undefined && api.metrics !== metrics.getMeterProvider()),
  );
  if (stranger === undefined) return undefined;
  return (
    `an OpenTelemetry SDK is registered with another copy of @opentelemetry/api (${String(stranger.version)})` +
    " than identity-gateway-webhooks/opentelemetry loads, so nothing is exported. See `npm ls" +
    " @opentelemetry/api`: install one version, at most as new as the SDK's, or pass tracerProvider and meterProvider"
  );
}

function registered(): readonly RegisteredApi[] {
  return Object.getOwnPropertySymbols(globalThis)
    .filter(({ description = "" }) => API_SYMBOL.test(description))
    .map((symbol) => (globalThis as Record<symbol, RegisteredApi | undefined>)[symbol] ?? {});
}
