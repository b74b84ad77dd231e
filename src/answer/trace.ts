import type { Slot } from "../common/concurrency-limit.js";
import type { HostDeadline } from "../delivery/host-deadline.js";
import type { UnreadableBody, WaitUntil, WebhookRequest } from "../delivery/request.js";
import type { Outcome } from "./outcome.js";

/** What is known of a request so far. Each step adds what it learns; the report is made from it. */
export interface Trace {
  readonly request: WebhookRequest;
  /** When the request arrived, by `performance.now()`. */
  readonly startedAt: number;
  /** Bytes of the body that were received. */
  bytes: number;
  /** X-Webhook-Id. Undefined until the signature is good: nothing unauthenticated gets into a log. */
  id: string | undefined;
  /** X-Webhook-Type, which is not signed. Undefined until the signature is good. */
  type: string | undefined;
  /** X-Webhook-Timestamp in Unix milliseconds. */
  timestampMs: number;
  /** Index of the secret that matched, in the list for the webhook type. */
  secretIndex: number | undefined;
  /** True if an earlier run of this delivery ended without a result. */
  takeover: true | undefined;
  /** The handler's slot, one of `maxConcurrentDeliveries`. */
  slot: Slot | undefined;
  /** The platform's function for work that goes on after the answer. */
  waitUntil: WaitUntil | undefined;
  /** Until when the platform lets the request run; undefined if it sets no limit. */
  deadline: HostDeadline | undefined;
}

/** The trace of a request that has just arrived. Every field is set, so that all traces have one shape. */
export function beginTrace(request: WebhookRequest): Trace {
  return {
    request,
    startedAt: performance.now(),
    bytes: 0,
    id: undefined,
    type: undefined,
    timestampMs: Number.NaN,
    secretIndex: undefined,
    takeover: undefined,
    slot: undefined,
    waitUntil: undefined,
    deadline: undefined,
  };
}

/** How a request ended. */
export interface Ending {
  readonly outcome: Outcome;
  readonly error?: unknown;
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

/** The end of a request whose body could not be read, or is larger than `maxBodyBytes`. */
export function unreadable({ reason, advice }: UnreadableBody, maxBodyBytes: number): Ending {
  const describeLimit = () => `The limit is ${String(maxBodyBytes)} bytes.`;
  return {
    outcome: reason,
    advice,
    fact: reason === "body_too_large" ? describeLimit : undefined,
  };
}
