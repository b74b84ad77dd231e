import { createAnswer, type WebhookResponse } from "./answer.js";
import { createAuthenticate } from "./authenticate.js";
import { createClaims } from "./claims.js";
import { decode } from "./decode.js";
import { AbortableContext } from "./delivery-context.js";
import { isFresh, millisecondsOf } from "./freshness.js";
import { readDeliveryHeaders } from "./headers.js";
import { isPromise } from "./maybe-promise.js";
import type { WebhookReceiverOptions } from "./options.js";
import type { Outcome } from "./outcome.js";
import { createPerform } from "./perform.js";
import { createReporter, type Ending } from "./report.js";
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
 * Makes a receiver. See `WebhookReceiverOptions` for what can be set.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const settings = checkOptions(options);
  const { maxBodyBytes, timestampToleranceMs, now } = settings;
  const answer = createAnswer(settings.unverifiable);
  const reporter = createReporter(answer, settings.onOutcome, settings.logger);
  const authenticate = createAuthenticate(settings.keyring);
  const findRoute = createRoutes(settings.handlers);
  const claims = createClaims(settings.store, settings, reporter.log);
  const running = createRunning();
  const perform = createPerform(claims, running, settings.handlerTimeoutMs, reporter.log);
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

  // One async function, which awaits only what is a promise: a step that has its value costs none.
  async function receive(request: WebhookRequest): Promise<WebhookResponse> {
    const trace = reporter.begin();
    const end = (ending: Ending): WebhookResponse => reporter.end(trace, ending);
    const refuse = (outcome: Outcome): WebhookResponse => end({ outcome });
    running.enter();
    try {
      if (!isPost(request.method)) return refuse("method_not_allowed");
      if (draining) return refuse("draining");

      const rawBody = readBody(request.body, maxBodyBytes);
      if (rawBody instanceof UnreadableBody) {
        trace.bytes = rawBody.bytes;
        return end({ outcome: rawBody.reason, advice: rawBody.advice });
      }
      trace.bytes = rawBody.length;

      const headers = readDeliveryHeaders(request.headers);
      if (headers === undefined) return refuse("malformed");

      const judged = authenticate(headers, rawBody);
      const authenticity = isPromise(judged) ? await judged : judged;
      if (!authenticity.authentic) return end(authenticity);
      const { id, type } = headers;
      trace.id = id;
      trace.type = type;
      trace.secretIndex = authenticity.secretIndex;

      const timestampMs = millisecondsOf(headers.timestamp);
      if (!isFresh(timestampMs, now(), timestampToleranceMs)) return refuse("stale");

      const decoded = decode(rawBody, type);
      if (decoded.kind === "type_mismatch") return refuse("type_mismatch");

      const route = findRoute(decoded, type);
      if (route.kind === "unhandled") warnUnhandled(route.what);
      if (route.kind !== "run") return end({ outcome: route.kind, advice: route.advice });

      const claiming = claims.claim(id);
      const claim = isPromise(claiming) ? await claiming : claiming;
      if (claim.state === "completed") return refuse("duplicate");
      if (claim.state === "in_flight") {
        return end({ outcome: "in_flight", retryAfterMs: claim.retryAfterMs });
      }
      if (claim.state === "unavailable") {
        return end({ outcome: "store_unavailable", error: claim.error });
      }
      const { owner, takeover } = claim;
      if (takeover) trace.takeover = true;

      const timestamp = new Date(timestampMs);
      const context = new AbortableContext(id, type, timestamp, rawBody, takeover);
      const performing = perform({ id, type, owner, run: route.run, context });
      return end(isPromise(performing) ? await performing : performing);
    } catch (error) {
      return end({ outcome: "internal_error", error });
    } finally {
      running.leave();
    }
  }

  return {
    receive,
    async drain() {
      draining = true;
      await running.idle();
      await claims.flush();
    },
    maxBodyBytes,
  };
}
