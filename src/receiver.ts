import { createAnswers, type WebhookResponse } from "./answer.js";
import { createObserve } from "./authentic-delivery.js";
import { createAuthenticate, type Authenticity } from "./authenticate.js";
import { decode } from "./decode.js";
import { isFresh } from "./freshness.js";
import { readDeliveryHeaders } from "./headers.js";
import type { MaybeLater } from "./maybe-promise.js";
import { createMode, type Delivery } from "./mode.js";
import type { WebhookReceiverOptions } from "./options.js";
import { createReporter, type Ending, type Trace } from "./report.js";
import { isPost, readBody, type WebhookRequest } from "./request.js";
import { createRoutes } from "./routes.js";
import { createRunning } from "./running.js";
import { checkOptions } from "./settings.js";
import { UnreadableBody } from "./unreadable-body.js";

/** Receives deliveries. Mount it with an adapter, or call `receive` directly. */
export interface WebhookReceiver {
  /** Verifies one request, handles it once and says what to answer. Never rejects. */
  readonly receive: (request: WebhookRequest) => Promise<WebhookResponse>;
  /**
   * Refuses new deliveries (503) from now on, and resolves when the running ones have settled, those
   * included whose gateway has been answered 503 on `handlerTimeoutMs`. Never rejects.
   */
  readonly drain: () => Promise<void>;
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
  const { maxBodyBytes, timestampToleranceMs, now } = settings;
  const answerOf = createAnswers(settings.unverifiable);
  const reporter = createReporter(answerOf, settings.onOutcome, settings.logger);
  const observe = createObserve(settings.onAuthenticDelivery, now);
  const authenticate = createAuthenticate(settings.keyring);
  const findRoute = createRoutes(settings.handlers);
  const running = createRunning();
  const mode = createMode(settings, running, reporter.log);
  const warnedOf = new Set<string>();
  let draining = false;

  if (settings.keyring === undefined) {
    reporter.log("warn", "acceptUnsignedDeliveries is true: anyone who finds the URL is believed");
  }

  const warnUnhandled = (what: string): void => {
    if (warnedOf.has(what)) return;
    warnedOf.add(what);
    reporter.log("warn", `unhandled: no handler is given for ${what}, which is answered 200`);
  };

  // Three stretches, between which a delivery may have to wait: for its secret or WebCrypto, and for the
  // store. Each gives a value where it has one, so that one that waits for nothing makes one promise.
  function receive(request: WebhookRequest): Promise<WebhookResponse> {
    const trace = reporter.begin();
    running.enter();
    try {
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
    if (!isPost(request.method)) return { outcome: "method_not_allowed" };
    if (draining) return { outcome: "draining" };

    const rawBody = readBody(request.body, maxBodyBytes);
    if (rawBody instanceof UnreadableBody) {
      trace.bytes = rawBody.bytes;
      return { outcome: rawBody.reason, advice: rawBody.advice };
    }
    trace.bytes = rawBody.length;

    const headers = readDeliveryHeaders(request.headers);
    if (headers === undefined) return { outcome: "malformed" };
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
    trace.secretIndex = authenticity.secretIndex;

    if (!isFresh(timestampMs, now(), timestampToleranceMs)) return { outcome: "stale" };

    const decoded = decode(rawBody, type);
    if (decoded.kind === "type_mismatch") return { outcome: "type_mismatch" };

    const route = findRoute(decoded, type);
    if (route.kind === "unhandled") warnUnhandled(route.what);
    if (route.kind !== "run") return { outcome: route.kind, advice: route.advice };

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
    const response = reporter.end(trace, ending);
    observe?.(request, trace, response);
    return response;
  }

  return {
    receive,
    async drain() {
      draining = true;
      await running.idle();
      await mode.flush();
    },
    maxBodyBytes,
  };
}
