import type { ValueOrPromise } from "../common/promises.js";
import type { Slot } from "../common/concurrency-limit.js";
import type { TypeLabel } from "../delivery/headers.js";
import type { HostDeadline, WaitUntil, WebhookRequest } from "../delivery/request.js";
import type { DurationRecorder, RequestObservation } from "./observers.js";
import type { OutcomeVariant, WebhookOutcome } from "./outcome.js";

/** The secret that has signed a delivery, as reports and metrics name it. */
export interface MatchedSecret {
  /** Its place in the list for the webhook type. */
  readonly index: number;
  /**
   * Tells it from others: four hexadecimal digits, 16 bits of HMAC(secret, a fixed label). Empty for a short secret. Never
   * rejects.
   */
  readonly fingerprint: () => ValueOrPromise<string>;
}

/** What is known of a request so far. Each step adds what it learns; the report is made from it. */
export interface Trace {
  readonly request: WebhookRequest;
  /** Whether it was recovered and not sent: no signature is asked of it. */
  readonly recovered: boolean;
  /** When the request arrived, by `performance.now()`. */
  readonly startedAt: number;
  /** When its answer is due, by `performance.now()`. Infinity for a job of an inbox. */
  readonly answerBy: number;
  /** Bytes of the body that were received. */
  bytes: number;
  /** X-Webhook-Id. Undefined until the signature is good: nothing unauthenticated gets into a log. */
  id: string | undefined;
  /** X-Webhook-Type, which is not signed. Undefined until the signature is good. */
  type: string | undefined;
  /**
   * The type that a refused request claims, if the gateway may have sent it: its signature, or all other headers,
   * are well-formed. Undefined for all others.
   */
  claimed: TypeLabel | undefined;
  /** The X-Webhook-Id of a request that claims a type. It is compared with others and never shown. */
  claimedId: string | undefined;
  /** How the answer and the log line differ from those of the outcome. */
  variant: OutcomeVariant | undefined;
  /** X-Webhook-Timestamp in Unix milliseconds. NaN if it is not known. */
  timestampMs: number;
  /** The receiver's clock when the signature was good, in Unix milliseconds. NaN until then. */
  arrivedAtMs: number;
  /**
   * The receiver's clock when the signature was good, or when a wait for a place ended, in Unix milliseconds. NaN
   * until then.
   */
  checkedAtMs: number;
  secret: MatchedSecret | undefined;
  /** The alarm or event, once the body is decoded. */
  record: unknown;
  /** Tells the record from others; undefined until it is decoded. */
  mark: string | number | undefined;
  /** True if an earlier run of this delivery ended without a result. */
  takeover: true | undefined;
  /** Undefined if the request has no observer. */
  observation: RequestObservation | undefined;
  /** Takes the handler's duration; undefined if no one wants it. */
  durations: DurationRecorder | undefined;
  /** Whether the sender had hung up when the request ended; undefined until someone asks. */
  hungUp: boolean | undefined;
  /** The delivery's place, one of `maxConcurrentDeliveries`. */
  slot: Slot | undefined;
  /** The platform's function for work that goes on after the answer. */
  waitUntil: WaitUntil | undefined;
  /** Until when the platform lets the request run; undefined if it sets no limit. */
  deadline: HostDeadline | undefined;
}

/** The trace of a request that has just arrived. Every field is set, so that all traces have one shape. */
export function beginTrace(request: WebhookRequest, recovered: boolean, dueMs = Infinity): Trace {
  const startedAt = performance.now();
  return {
    request,
    recovered,
    startedAt,
    answerBy: startedAt + dueMs,
    bytes: 0,
    id: undefined,
    type: undefined,
    claimed: undefined,
    claimedId: undefined,
    variant: undefined,
    timestampMs: Number.NaN,
    arrivedAtMs: Number.NaN,
    checkedAtMs: Number.NaN,
    secret: undefined,
    record: undefined,
    mark: undefined,
    takeover: undefined,
    observation: undefined,
    durations: undefined,
    hungUp: undefined,
    slot: undefined,
    waitUntil: undefined,
    deadline: undefined,
  };
}

/**
 * When the answer is due, in milliseconds from a handler's call at `calledAt`: `handlerTimeoutMs` after the
 * request's arrival. A host's deadline bounds the handler alone.
 */
export function dueAfterMs(
  { answerBy, deadline }: Trace,
  handlerTimeoutMs: number,
  calledAt: number,
): number {
  if (deadline !== undefined) return handlerTimeoutMs;
  // Whole milliseconds: the answer of a delivery that has not waited is due when its handler times out. At least
  // one: it is never due while the handler is being called.
  return Math.max(1, Math.min(handlerTimeoutMs, Math.ceil(answerBy - calledAt)));
}

/**
 * Whether the sender had hung up when the request ended. A server that cannot tell counts as connected. It is
 * asked once: asking twice took 3 % of a delivery over HTTP.
 */
export function hasHungUp(trace: Trace): boolean {
  return (trace.hungUp ??= isDisconnected(trace));
}

/** Whether the sender has hung up by now. */
export function isDisconnected({ request }: Trace): boolean {
  try {
    return request.isDisconnected?.() === true;
  } catch {
    return false;
  }
}

/** What the id of a probe of `/management` begins with. The gateway's own ids are UUIDs. */
export const PROBE_ID_PREFIX = "probe-";

/** Whether a request is a probe, or a stranger's who says so: none of the gateway's. */
export function isProbeId(id: string | undefined): boolean {
  return id?.startsWith(PROBE_ID_PREFIX) === true;
}

/**
 * Whether a request only asked whether its secret is known here. Its signature was good. It is no delivery, so no
 * counter, alert or log line is about it.
 */
export function isSecretProbe({ id }: Trace, outcome: WebhookOutcome): boolean {
  const isRefused = outcome === "stale" || outcome === "type_mismatch";
  return isRefused && isProbeId(id);
}

/** How a request ended. */
export interface Ending {
  readonly outcome: WebhookOutcome;
  readonly error?: unknown;
  /** The record was handled, or is in flight, under another X-Webhook-Id. */
  readonly sameRecord?: true | undefined;
  /** Replaces the outcome's own `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** Names what the handler returned, if its author may have expected an effect of it. */
  readonly ignored?: string | undefined;
  /** What the operator must change. For the log only. */
  readonly advice?: string | undefined;
  /** What exactly is wrong. For the log only, and called only if a line is written. */
  readonly fact?: (() => string) | undefined;
  /** Only for `handler_timeout`: resolves to how the handler ended. Never rejects. */
  readonly late?: Promise<Ending>;
  /** Store calls that go on after the answer. Never rejects. */
  readonly unfinished?: Promise<void> | undefined;
}
