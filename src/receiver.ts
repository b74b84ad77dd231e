import type { WebhookResponse } from "./answer/answer.js";
import { Reporter } from "./answer/reporter.js";
import { malformed, overloaded, unreadable } from "./answer/endings.js";
import { beginTrace, isProbeId, type Ending, type Trace } from "./answer/trace.js";
import { ConcurrencyLimit } from "./common/concurrency-limit.js";
import { InFlightCount } from "./common/in-flight-count.js";
import { within } from "./common/timers.js";
import { claimedType } from "./delivery/header-faults.js";
import { readDeliveryHeaders, typeLabel } from "./delivery/headers.js";
import { recoveredRequest } from "./delivery/recovered-delivery.js";
import { readBody, type WebhookRequest, UnreadableBody, holdOpen } from "./delivery/request.js";
import { isTransactional, type Handling } from "./handling/handling.js";
import { LeasedHandling } from "./handling/leased-handling.js";
import { Routes } from "./handling/routes.js";
import { TransactionalHandling } from "./handling/transactional-handling.js";
import { drainTimeoutOf, type WebhookReceiverOptions } from "./options/options.js";
import { checkOptions } from "./options/settings.js";
import type { ReceiverInternals, WebhookReceiver } from "./options/webhook-receiver.js";
import { decode, recordOf } from "./records/decode.js";
import { authenticate } from "./signature/authenticate.js";
import { stale, TimestampWatch } from "./signature/timestamps.js";
import { Health } from "./telemetry/health.js";
import { Observers } from "./telemetry/observation.js";
import { Tally } from "./telemetry/tally.js";
import type { InternalTelemetry } from "./telemetry/telemetry.js";

export type { WebhookReceiver };

/**
 * Makes a receiver. `Tx`, the type of the handlers' `context.tx`, follows from `store`.
 *
 * @throws ConfigurationError if an option cannot work.
 * @example
 * const receiver = createWebhookReceiver({
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   handlers: { new_alarm: async (alarm) => notify(alarm.account_id) },
 * });
 */
export function createWebhookReceiver<Tx = never>(
  options: WebhookReceiverOptions<Tx>,
): WebhookReceiver {
  const settings = checkOptions(options);
  const { keyring, store, maxBodyBytes, timestampToleranceMs, now } = settings;
  const { maxConcurrentDeliveries, handlerMaxMs, dependencyTimeoutMs, telemetry } = settings;
  const inFlight = new InFlightCount();
  const tally = new Tally(keyring);
  const reporter = new Reporter({ ...settings, tally });
  const { log } = reporter;
  const timestampWatch = new TimestampWatch(now, log);
  const routes = new Routes(settings.handlers);
  const handling: Handling = isTransactional(store)
    ? new TransactionalHandling(store, settings, log, tally)
    : new LeasedHandling(store, settings, log, tally);
  // From a request's arrival. A handler that is given up has left its slot by then, unless its timers are
  // never called. The six: secret, schemas, an overdue lease, claim, complete, and one to spare.
  const slotMaxMs = handlerMaxMs + 6 * dependencyTimeoutMs;
  // Deliveries to a transactional store wait for a connection instead.
  const limit = isTransactional(store)
    ? undefined
    : new ConcurrencyLimit(maxConcurrentDeliveries, slotMaxMs);
  let isDraining = false;
  const internal: ReceiverInternals = {
    tally,
    startedAtMs: () => health.counts.timeOf("started") || 0,
    refusedMs: (type) => health.counts.refusedMs(type),
    inFlight: () => inFlight.count(),
    completionsPending: () => handling.completionsPending(),
    isDraining: () => isDraining,
    retentionMs: settings.retentionMs,
    log,
    logLostAnswer: reporter.logLostAnswer.bind(reporter),
    recover: (delivery) => run(recoveredRequest(delivery, now), true),
    routes,
  };
  const health = new Health({ ...settings, ...internal }, log);
  const measuring = telemetry?.internal as InternalTelemetry | undefined;
  measuring?.connectReceiver(internal, log);
  const seesDeliveries = measuring?.seesDeliveries !== false;
  const observers = new Observers("delivery", seesDeliveries ? telemetry : undefined, log);

  store.connectReceiver?.({
    warn: log.warn.bind(log),
    noteForgets: tally.noteForgets.bind(tally),
    dependencyTimeoutMs,
  });
  if (keyring === undefined) {
    log.warn("acceptUnsignedDeliveries is true: anyone who finds the URL is believed");
  }

  // Each step returns a plain value if it can, and only promises are awaited. So a delivery with a
  // synchronous store and handler costs one promise.
  async function run(request: WebhookRequest, recovered: boolean): Promise<WebhookResponse> {
    const trace = beginTrace(request, recovered);
    inFlight.enter();
    try {
      trace.observation = observers.begin();
      // Read once, because the property may be an accessor.
      trace.waitUntil = request.waitUntil;
      trace.deadline = request.hostDeadline;
      const given: unknown = request.method ?? "POST";
      const method = typeof given === "string" ? given.toUpperCase() : "";
      const isDelivery = method === "POST";
      if (!isDelivery && method !== "GET" && method !== "HEAD") {
        return end(trace, { outcome: "method_not_allowed" });
      }
      // Probes are refused too, so that a load balancer sends its traffic elsewhere.
      if (isDraining) return end(trace, { outcome: "draining" });
      if (!isDelivery) return end(trace, { outcome: "reachable" });
      const rawBody = readBody(request.body, maxBodyBytes);
      // Bytes are tested for first: testing them for UnreadableBody takes 2 % of a refused delivery.
      if (!(rawBody instanceof Uint8Array) && rawBody instanceof UnreadableBody) {
        trace.bytes = rawBody.bytes;
        return end(trace, unreadable(rawBody, maxBodyBytes));
      }
      trace.bytes = rawBody.length;
      const headers = readDeliveryHeaders(request.headers);
      if (headers === undefined) {
        trace.claimed = claimedType(request.headers);
        return end(trace, malformed(request));
      }

      const authenticating = authenticate(trace.recovered ? undefined : keyring, headers, rawBody);
      const authenticity = "then" in authenticating ? await authenticating : authenticating;
      const { id, type, timestampMs } = headers;
      if (!authenticity.authentic) {
        if (!isProbeId(id)) trace.claimed = typeLabel(type);
        return end(trace, authenticity);
      }
      trace.id = id;
      trace.type = type;
      if (!trace.recovered) trace.timestampMs = timestampMs;
      trace.secretIndex = authenticity.secretIndex;

      const nowMs = now();
      // First: it throws for a clock of another type, such as a bigint, which the counts of `end` cannot take.
      const isTimely = Math.abs(nowMs - timestampMs) <= timestampToleranceMs;
      trace.checkedAtMs = nowMs;
      if (!isTimely) {
        trace.record = recordOf(rawBody);
        return end(trace, stale(timestampMs, nowMs, timestampToleranceMs));
      }

      const decoding = decode(rawBody, type);
      const decoded =
        "then" in decoding
          ? await within(dependencyTimeoutMs, "loading the record schemas", decoding)
          : decoding;
      health.drift.check(decoded, type);
      if (decoded.kind === "type_mismatch") return end(trace, { outcome: "type_mismatch" });
      if ("record" in decoded) trace.record = decoded.record;
      const route = routes.find(decoded, type);
      if (route.kind === "unhandled") reporter.warnUnhandled(route.what);
      if (route.kind !== "run") return end(trace, { outcome: route.kind, advice: route.advice });

      if (limit?.isReached() === true) return end(trace, overloaded(id));
      trace.durations = tally.durations;
      // Claims the delivery, runs the handler and settles the claim.
      const handled = handling.handle({ headers, rawBody, call: route, trace });
      // A synchronous delivery has ended and takes no slot.
      if (!("then" in handled)) return end(trace, handled);
      trace.slot = limit?.enter(trace.startedAt);
      return end(trace, await handled);
    } catch (error) {
      return end(trace, { outcome: "internal_error", error });
    } finally {
      inFlight.leave();
    }
  }

  /** The last step of every request: makes its answer. */
  function end(trace: Trace, ending: Ending): WebhookResponse {
    const { outcome, late, unfinished } = ending;
    if (late !== undefined) finishLate(trace, late);
    else if (trace.slot !== undefined) limit?.leave(trace.slot);
    if (unfinished !== undefined) holdOpen(trace, unfinished);
    health.counts.note(trace, ending);
    const response = reporter.end(trace, ending);
    timestampWatch.check(trace, outcome === "handled");
    return response;
  }

  /**
   * For a delivery that was answered `handler_timeout`. Its handler still runs, so it stays in flight and
   * keeps its slot until it settles or is given up.
   */
  function finishLate(trace: Trace, late: Promise<Ending>): void {
    let reported: Promise<void> | undefined;
    const finished = late.then((ending) => {
      if (trace.slot !== undefined) limit?.leave(trace.slot);
      health.counts.noteLate(ending);
      reported = reporter.endLate(trace, ending);
    });
    inFlight.track(finished);
    const background = async (): Promise<void> => {
      await finished;
      await reported;
      const { unfinished } = await late;
      await unfinished;
    };
    holdOpen(trace, background());
  }

  return {
    receive: (request) => run(request, false),
    async drain(drainOptions) {
      isDraining = true;
      const timeoutMs = drainTimeoutOf(drainOptions);
      const until = performance.now() + timeoutMs;
      // Flushed now and at the end: a handler that hangs would leave no time for completions that are due.
      const flushed = inFlight.isIdle() ? undefined : handling.flush(timeoutMs);
      const running = await inFlight.waitUntilIdle(timeoutMs);
      await flushed;
      await handling.flush(Math.max(0, until - performance.now()));
      return { idle: running === 0, running };
    },
    health: (given) => health.read(given),
    maxBodyBytes,
    internal,
  };
}
