import { withAdapterSide } from "./answer/adapter-side.js";
import { createAnswers, type WebhookResponse } from "./answer/answer.js";
import { createObserve } from "./answer/authentic-delivery.js";
import { createAuthenticate, type Authenticity } from "./signature/authenticate.js";
import { decode } from "./records/decode.js";
import type { Decoded } from "./records/decoded.js";
import { drainTimeoutOf, type DrainOptions, type DrainResult } from "./options/drain-options.js";
import { isFresh, staleness, createTimestampWatch } from "./signature/timestamps.js";
import { headerFaults } from "./delivery/header-faults.js";
import { readDeliveryHeaders } from "./delivery/headers.js";
import type { MaybeLater } from "./common/maybe-promise.js";
import { createMode, type Delivery } from "./handling/mode.js";
import type { WebhookReceiverOptions } from "./options/options.js";
import { overloaded } from "./handling/overloaded.js";
import { Places } from "./common/places.js";
import { helpText } from "./answer/outcome-help.js";
import { createReporter, type Ending, type Trace } from "./answer/report.js";
import {
  isPost,
  isProbe,
  readBody,
  type WebhookRequest,
  UnreadableBody,
  holdOpen,
  waitUntilOf,
} from "./delivery/request.js";
import { createRoutes } from "./handling/routes.js";
import { createRunning } from "./handling/running.js";
import { checkOptions } from "./options/settings.js";
import { giveWarn } from "./stores/store-warnings.js";

/** Receives deliveries. Mount it with an adapter, or call `receive` directly. */
export interface WebhookReceiver {
  /** Verifies one request, handles it once and says what to answer. Never rejects. */
  readonly receive: (request: WebhookRequest) => Promise<WebhookResponse>;
  /**
   * Refuses new deliveries (503) from now on, and resolves when the running ones have settled, also
   * those that were answered 503 after `handlerTimeoutMs`, or when the time is over. Each answer from
   * now on closes its connection. Never rejects.
   */
  readonly drain: (options?: DrainOptions) => Promise<DrainResult>;
  /** The option of that name, for adapters: no body need be read further. */
  readonly maxBodyBytes: number;
}

/**
 * Makes a receiver. See `WebhookReceiverOptions` for what can be set. `Tx`, the type of the handlers'
 * `context.tx`, follows from `store`.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function createWebhookReceiver<Tx = never>(
  options: WebhookReceiverOptions<Tx>,
): WebhookReceiver {
  const settings = checkOptions(options);
  const { maxBodyBytes, timestampToleranceMs, maxConcurrentDeliveries, now } = settings;
  const answerOf = createAnswers(settings.unverifiable);
  const reporter = createReporter(answerOf, settings.onOutcome, settings.logger);
  const observe = createObserve(settings.onAuthenticDelivery, now);
  const authenticate = createAuthenticate(settings.keyring);
  const findRoute = createRoutes(settings.handlers);
  const running = createRunning();
  const mode = createMode(settings, reporter.log);
  const watchTimestamps = createTimestampWatch(now, reporter.log);
  const { handlerMaxMs, dependencyTimeoutMs } = settings;
  // A handler that is given up has its place back by then, unless its timers are no longer called.
  const handling = new Places(maxConcurrentDeliveries, handlerMaxMs + 4 * dependencyTimeoutMs);
  const warnedOf = new Set<string>();
  let draining = false;

  giveWarn(settings.store, (message) => {
    reporter.log("warn", message);
  });
  if (settings.keyring === undefined) {
    reporter.log("warn", "acceptUnsignedDeliveries is true: anyone who finds the URL is believed");
  }

  const warnUnhandled = (what: string): void => {
    if (warnedOf.has(what)) return;
    warnedOf.add(what);
    reporter.log(
      "warn",
      `unhandled: no handler is given for ${what}, so the delivery is dropped: it is answered 200 and not sent again. ${helpText("unhandled")}`,
    );
  };
  const describeLimit = () => `The limit is ${String(maxBodyBytes)} bytes.`;

  // Three stretches, between which a delivery may have to wait: for its secret or WebCrypto, and for the
  // store. Each gives a value where it has one, so that one that waits for nothing makes one promise.
  function receive(request: WebhookRequest): Promise<WebhookResponse> {
    const trace = reporter.begin();
    running.enter();
    try {
      trace.waitUntil = waitUntilOf(request);
      const ending = read(request, trace);
      if ("then" in ending) return finishLater(request, trace, ending);
      const response = finish(request, trace, ending);
      running.leave();
      return Promise.resolve(response);
    } catch (error) {
      return finishLater(request, trace, Promise.reject(error));
    }
  }

  function read(request: WebhookRequest, trace: Trace): MaybeLater<Ending> {
    const { method } = request;
    const isDelivery = isPost(method);
    if (!isDelivery && !isProbe(method)) return { outcome: "method_not_allowed" };
    // To probes, too: a load balancer is to send its traffic elsewhere.
    if (draining) return { outcome: "draining" };
    if (!isDelivery) return { outcome: "reachable" };

    const rawBody = readBody(request.body, maxBodyBytes);
    if (rawBody instanceof UnreadableBody) {
      trace.bytes = rawBody.bytes;
      const fact = rawBody.reason === "body_too_large" ? describeLimit : undefined;
      return { outcome: rawBody.reason, advice: rawBody.advice, fact };
    }
    trace.bytes = rawBody.length;

    const headers = readDeliveryHeaders(request.headers);
    if (headers === undefined) {
      return { outcome: "malformed", fact: () => headerFaults(request.headers) };
    }
    const delivery = { headers, rawBody, trace };
    const authenticity = authenticate(headers, rawBody);
    return "then" in authenticity
      ? authenticity.then((judged) => dispatch(delivery, judged))
      : dispatch(delivery, authenticity);
  }

  function dispatch(delivery: Delivery, authenticity: Authenticity): MaybeLater<Ending> {
    if (!authenticity.authentic) return authenticity;
    const { headers, rawBody, trace } = delivery;
    const { id, type, timestampMs } = headers;
    trace.id = id;
    trace.type = type;
    trace.timestampMs = timestampMs;
    trace.secretIndex = authenticity.secretIndex;

    const nowMs = now();
    if (!isFresh(timestampMs, nowMs, timestampToleranceMs)) {
      const fact = () => staleness(timestampMs, nowMs, timestampToleranceMs);
      return { outcome: "stale", fact };
    }

    const decoded = decode(rawBody, type);
    return "then" in decoded
      ? decoded.then((record) => handle(delivery, record))
      : handle(delivery, decoded);
  }

  function handle(delivery: Delivery, decoded: Decoded): MaybeLater<Ending> {
    const { id, type } = delivery.headers;
    if (decoded.kind === "type_mismatch") return { outcome: "type_mismatch" };

    const route = findRoute(decoded, type);
    if (route.kind === "unhandled") warnUnhandled(route.what);
    if (route.kind !== "run") return { outcome: route.kind, advice: route.advice };

    if (handling.areTaken()) return overloaded(id);
    delivery.trace.place = handling.take();
    return mode.handle(delivery, route);
  }

  async function finishLater(
    request: WebhookRequest,
    trace: Trace,
    ending: Promise<Ending>,
  ): Promise<WebhookResponse> {
    try {
      return finish(request, trace, await ending);
    } catch (error) {
      return finish(request, trace, { outcome: "internal_error", error });
    } finally {
      running.leave();
    }
  }

  function finish(request: WebhookRequest, trace: Trace, ending: Ending): WebhookResponse {
    const { late, unfinished } = ending;
    if (late !== undefined) finishAfter(trace, late);
    else endHandling(trace);
    if (unfinished !== undefined) holdOpen(trace, unfinished);
    const response = reporter.end(trace, ending, request);
    const { id, timestampMs, startedAt } = trace;
    if (id !== undefined) watchTimestamps(id, timestampMs, startedAt, ending.outcome === "handled");
    observe?.(request, trace, response);
    return response;
  }

  /** The handler of an answered delivery still runs: it counts until it settles or is given up. */
  function finishAfter(trace: Trace, late: Promise<Ending>): void {
    let reported: Promise<void> | undefined;
    const finished = late.then((ending) => {
      endHandling(trace);
      reported = reporter.endLate(trace, ending);
    });
    running.track(finished);
    const background = async (): Promise<void> => {
      await finished;
      await reported;
      const { unfinished } = await late;
      await unfinished;
    };
    holdOpen(trace, background());
  }

  function endHandling(trace: Trace): void {
    if (trace.place !== undefined) handling.give(trace.place);
  }

  const receiver: WebhookReceiver = {
    receive,
    async drain(drainOptions) {
      draining = true;
      const timeoutMs = drainTimeoutOf(drainOptions);
      const until = performance.now() + timeoutMs;
      // Beside the handlers too, or one that hangs would leave no time for what is already handled.
      const flushed = running.isIdle() ? undefined : mode.flush(timeoutMs);
      const left = await running.idle(timeoutMs);
      await flushed;
      await mode.flush(Math.max(0, until - performance.now()));
      return { idle: left === 0, running: left };
    },
    maxBodyBytes,
  };
  return withAdapterSide(receiver, {
    isDraining: () => draining,
    logLostAnswer: reporter.logLostAnswer,
  });
}
