import type { WebhookResponse } from "./answer/answer.js";
import { Reporter } from "./answer/reporter.js";
import {
  malformed,
  notAuthentic,
  notRun,
  redirected,
  stale,
  unreadable,
} from "./answer/endings.js";
import { beginTrace, isProbeId, type Ending, type Trace } from "./answer/trace.js";
import { InFlightCount } from "./common/in-flight-count.js";
import { hasDeliveryMark } from "./delivery/header-faults.js";
import { readDeliveryHeaders } from "./delivery/header-values.js";
import { isWebhookType, typeLabel } from "./delivery/headers.js";
import {
  recoveredDelivery,
  recoveredRecord,
  type Recovered,
} from "./delivery/recovered-delivery.js";
import { readBody, type WebhookRequest, UnreadableBody, holdOpen } from "./delivery/request.js";
import { isTransactional, type Delivery, type Handling } from "./handling/handling.js";
import { LeasedHandling } from "./handling/leased-handling.js";
import { RecordKeys } from "./handling/once-per-record.js";
import { PlaceQueue } from "./handling/place-queue.js";
import { Routes } from "./handling/routes.js";
import { TransactionalHandling } from "./handling/transactional-handling.js";
import { drainTimeoutOf, type WebhookReceiverOptions } from "./options/options.js";
import { checkOptions } from "./options/settings.js";
import type { ReceiverInternals, WebhookReceiver } from "./options/webhook-receiver.js";
import { decode, recordOf } from "./records/decode.js";
import { authenticate } from "./signature/authenticate.js";
import { noteRecord, RepeatWatch } from "./signature/repeat-watch.js";
import { Health } from "./telemetry/health.js";
import { Observer } from "./telemetry/observation.js";
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
  const { handlerTimeoutMs, dependencyTimeoutMs, telemetry, once } = settings;
  const inFlight = new InFlightCount();
  const tally = new Tally(keyring);
  const reporter = new Reporter({ ...settings, tally });
  const { log } = reporter;
  const repeatWatch = new RepeatWatch(log);
  const routes = new Routes(settings.handlers);
  const scope = isTransactional(store) ? undefined : store.scope;
  const recordKeys = once === "delivery" ? undefined : new RecordKeys(once, scope, log);
  const handlingOptions = { ...settings, recordKeys };
  const handling: Handling = isTransactional(store)
    ? new TransactionalHandling(store, handlingOptions, log, tally)
    : new LeasedHandling(store, handlingOptions, log, tally);
  const places = new PlaceQueue(settings.maxConcurrentDeliveries, settings);
  let isDraining = false;
  const internal: ReceiverInternals = {
    tally,
    startedAtMs: () => health.counts.timeOf("started") || 0,
    refusedSinceMs: (type) => health.counts.refusedRetries.sinceMs(type),
    inFlight: () => inFlight.count(),
    waiting: () => places.waiting(),
    handlers: routes.handlers,
    completionsPending: () => handling.completionsPending(),
    isDraining: () => isDraining,
    retentionMs: settings.retentionMs,
    log,
    logLostAnswer: reporter.logLostAnswer.bind(reporter),
    recover: (delivery) => recover(recoveredDelivery(delivery, now)),
    recoverRecord:
      recordKeys &&
      (async (given) => recover(recoveredRecord(given, await recordKeys.listedIdOf(given), now))),
    hasDefaultStore: options.store === undefined,
    isInMemory: !isTransactional(store) && store.isInMemory === true,
    routes,
  };
  const health = new Health({ ...settings, ...internal }, log);
  const measuring = telemetry?.internal as InternalTelemetry | undefined;
  measuring?.connectReceiver(internal, log);
  const seesDeliveries = measuring?.seesDeliveries !== false;
  const observer = new Observer("delivery", seesDeliveries ? telemetry : undefined, log);

  store.connectReceiver?.({
    warn: log.warn.bind(log),
    noteForgets: tally.noteForgets.bind(tally),
    dependencyTimeoutMs,
  });
  if (keyring === undefined) {
    log.warn("acceptUnsignedDeliveries is true: anyone who finds the URL is believed");
  }

  const recover = (recovered: Recovered): Promise<WebhookResponse> =>
    run(recovered.request, recovered);

  async function run(request: WebhookRequest, recovered?: Recovered): Promise<WebhookResponse> {
    const trace = beginTrace(request, recovered !== undefined, handlerTimeoutMs);
    inFlight.enter();
    try {
      trace.observation = observer.begin();
      // Read once, because the property may be an accessor.
      trace.waitUntil = request.waitUntil;
      trace.deadline = request.hostDeadline;
      const given: unknown = request.method ?? "POST";
      const method = typeof given === "string" ? given.toUpperCase() : "";
      const isProbe = method === "GET" || method === "HEAD" || method === "OPTIONS";
      if (!isProbe && method !== "POST") return end(trace, { outcome: "method_not_allowed" });
      // Probes are refused too, so that a load balancer sends its traffic elsewhere.
      if (isDraining) return end(trace, { outcome: "draining" });
      if (isProbe) {
        // A redirect in front turns a delivery into a GET.
        if (hasDeliveryMark(request.headers)) return end(trace, redirected(trace, method));
        if (method === "OPTIONS") trace.variant = "options";
        return end(trace, { outcome: "reachable" });
      }
      const rawBody = readBody(request.body, maxBodyBytes);
      // Bytes are tested for first: testing them for UnreadableBody takes 2 % of a refused delivery.
      if (!(rawBody instanceof Uint8Array) && rawBody instanceof UnreadableBody) {
        trace.bytes = rawBody.bytes;
        return end(trace, unreadable(rawBody, maxBodyBytes));
      }
      trace.bytes = rawBody.length;
      const headers = recovered ? recovered.headers : readDeliveryHeaders(request.headers);
      if (headers === undefined) return end(trace, malformed(trace));

      const authenticating = authenticate(trace.recovered ? undefined : keyring, headers, rawBody);
      const authenticity = "then" in authenticating ? await authenticating : authenticating;
      const { id, type, timestampMs } = headers;
      if (!authenticity.authentic) {
        if (!isProbeId(id) || !isWebhookType(type)) trace.claimed = typeLabel(type);
        trace.claimedId = id;
        return end(trace, notAuthentic(authenticity, request, rawBody));
      }
      trace.id = id;
      trace.type = type;
      if (!trace.recovered) trace.timestampMs = timestampMs;
      trace.secret = authenticity.secret;

      const nowMs = now();
      // First: it throws for a clock of another type, such as a bigint, which the counts of `end` cannot take.
      const isTimely = Math.abs(nowMs - timestampMs) <= timestampToleranceMs;
      trace.arrivedAtMs = trace.checkedAtMs = nowMs;
      if (!isTimely) {
        trace.record = recordOf(rawBody);
        return end(trace, stale(timestampMs, nowMs, timestampToleranceMs));
      }

      const decoded = decode(rawBody, type);
      health.drift.check(decoded, type);
      if ("record" in decoded) noteRecord(trace, decoded);
      // Its dates tell whether this is the last attempt.
      else trace.record = recordOf(rawBody);
      if (decoded.kind === "type_mismatch") return end(trace, { outcome: "type_mismatch" });
      const route = routes.find(decoded, type);
      if (route.kind === "unhandled") reporter.warnUnhandled(route.what);
      if (route.kind !== "run") return end(trace, notRun(route, decoded, request, rawBody));

      const delivery: Delivery = { headers, rawBody, call: route, trace };
      if (!places.isFree()) {
        const place = await places.wait(delivery, handling);
        trace.checkedAtMs = now();
        if ("outcome" in place) return end(trace, place);
      }
      trace.durations = tally.durations;
      // Claims the delivery, runs the handler and settles the claim. Takes no place if that is synchronous.
      const handled = handling.handle(delivery);
      if (!("then" in handled)) return end(trace, handled);
      trace.slot ??= places.enter(trace.startedAt);
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
    else if (trace.slot !== undefined) places.leave(trace.slot);
    if (unfinished !== undefined) holdOpen(trace, unfinished);
    health.counts.note(trace, ending);
    const response = reporter.end(trace, ending);
    repeatWatch.check(trace, outcome);
    return response;
  }

  /**
   * For a delivery that was answered `handler_timeout`. Its handler still runs, so it stays in flight and
   * keeps its place until it settles or is given up.
   */
  function finishLate(trace: Trace, late: Promise<Ending>): void {
    let reported: Promise<void> | undefined;
    const finished = late.then((ending) => {
      if (trace.slot !== undefined) places.leave(trace.slot);
      health.counts.noteLate(trace, ending);
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
    receive: (request) => run(request),
    async drain(drainOptions) {
      isDraining = true;
      const timeoutMs = drainTimeoutOf(drainOptions);
      const until = performance.now() + timeoutMs;
      places.close();
      // Flushed now and at the end: a handler that hangs would leave no time for completions that are due.
      const flushed = inFlight.count() === 0 ? undefined : handling.flush(timeoutMs);
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
