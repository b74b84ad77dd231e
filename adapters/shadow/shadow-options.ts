import type { IncomingMessage, ServerResponse } from "node:http";
import type { SecretOption } from "../../src/signature/secrets.js";
import type { DeliveryStore } from "../../src/stores/delivery-store.js";
import type { ShadowCounts, ShadowReport } from "./comparison.js";

/**
 * Options of `shadow`.
 *
 * @experimental
 */
export interface ShadowOptions {
  /** The secret of the webhook, as for `createWebhookReceiver`. */
  readonly secret: SecretOption | undefined;
  /** Called for each request that the old code answers in another way. It may throw or reject. */
  readonly report?: ((report: ShadowReport) => unknown) | undefined;
  /**
   * Remembers ids, so that a delivery that comes again is known. Default `memoryStore()`. More than one process:
   * a shared store under a prefix or table of its own, never that of a receiver.
   */
  readonly store?: DeliveryStore | undefined;
  /** As of `createWebhookReceiver`. Milliseconds, default 300 000. */
  readonly timestampToleranceMs?: number | undefined;
  /** A longer body is not compared. Bytes, default 1 048 576. */
  readonly maxBodyBytes?: number | undefined;
  /** The clock: Unix time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * What the old code tells of one run, since no status shows it.
 *
 * @experimental
 */
export interface ShadowObservation {
  /** X-Webhook-Id. */
  readonly id: string;
  /** Whether it did its work for this attempt. */
  readonly ran: boolean;
  /** Whether that work failed. Default false. */
  readonly failed?: boolean | undefined;
}

/**
 * This library beside the old code.
 *
 * @experimental
 */
export interface Shadow {
  /**
   * Middleware for Express and plain Node. Mount it in front of everything that reads the body. It calls `next`
   * once, at once.
   */
  readonly node: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  /**
   * For Fetch and Hono: resolves to what `answer` gives. `context`: that of Workers, whose `waitUntil` lets the
   * comparison end after the answer.
   */
  readonly fetch: <Answer extends Response>(
    request: Request,
    answer: () => Answer | Promise<Answer>,
    context?: { waitUntil(work: Promise<unknown>): void },
  ) => Promise<Answer>;
  /** Tells of a run of the old code. Without it nothing is said of `ran_again`, `hidden_failure` and `not_run`. */
  readonly observe: (observation: ShadowObservation) => void;
  /** What was compared so far. */
  readonly counts: () => ShadowCounts;
  /** The same as a paragraph for a person, with whether it is safe to move. */
  readonly summary: () => string;
}
