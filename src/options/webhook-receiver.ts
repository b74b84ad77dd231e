import type { WebhookResponse } from "../answer/answer.js";
import type { Log } from "../answer/logger.js";
import type { RecoverableDelivery, RecoverableRecord } from "../delivery/recovered-delivery.js";
import type { WebhookRequest } from "../delivery/request.js";
import type { Routes } from "../handling/routes.js";
import type { HealthOptions, ReceiverHealth } from "../telemetry/health.js";
import type { MeasuredReceiver } from "../telemetry/tally.js";
import type { DrainOptions, DrainResult } from "./options.js";

/** Receives deliveries. Mount it with an adapter, or call `receive` directly. */
export interface WebhookReceiver {
  /** Verifies one request, handles it once and resolves to the answer. Never rejects. */
  readonly receive: (request: WebhookRequest) => Promise<WebhookResponse>;
  /**
   * Refuses new deliveries (503) from now on. Resolves when all running deliveries have settled, including
   * those that were answered 503 after `handlerTimeoutMs`, but at the latest after `timeoutMs`. Each
   * answer from now on closes its connection. Never rejects.
   */
  readonly drain: (options?: DrainOptions) => Promise<DrainResult>;
  /**
   * How the receiver is doing, and what to do about it (docs/monitoring.md): what this process has seen since
   * its start, with ratios over 15 minutes. Plain data for JSON. Never throws.
   *
   * @example
   * app.get("/health/webhooks", (_req, res) => res.json(receiver.health()));
   */
  readonly health: (options?: HealthOptions) => ReceiverHealth;
  /** The option `maxBodyBytes`, so that adapters stop reading a larger body. */
  readonly maxBodyBytes: number;
  /**
   * @internal What adapters, `metricsText`, `recoverDelivery` and the command line need. An object that wraps a receiver passes it on, by
   * `{ ...receiver }`, a Proxy or a member; without it, adapters serve the object, but do not close connections at
   * `drain`, log no lost answers, and `metricsText` and `recoverDelivery` refuse it. Its members may change in any version.
   */
  readonly internal?: object | undefined;
}

/** What adapters serve: a receiver, or an object of your own that has at least `receive`. */
export type MountableReceiver = Pick<WebhookReceiver, "receive"> & Partial<WebhookReceiver>;

/** The member `internal` of a receiver that this package has made. */
export interface ReceiverInternals extends MeasuredReceiver {
  /** Whether `drain` was called. Adapters then close connections, so that senders turn to another process. */
  readonly isDraining: () => boolean;
  /** How long its store remembers an id. */
  readonly retentionMs: number;
  /** Writes a line that belongs to no outcome. */
  readonly log: Log;
  /** Logs that an answer did not reach the sender. `reason`: a fixed sentence without its final period. */
  readonly logLostAnswer: (
    answer: WebhookResponse | undefined,
    reason: string,
    error?: unknown,
  ) => void;
  /** `receive` for a delivery that no signature and no age is asked of. */
  readonly recover: (delivery: RecoverableDelivery) => Promise<WebhookResponse>;
  /** The same for a record of the gateway's lists. Undefined if only delivery ids tell what was handled. */
  readonly recoverRecord: ((given: RecoverableRecord) => Promise<WebhookResponse>) | undefined;
  /** Whether its store is the memory of this process, and no one has asked for that. */
  readonly hasDefaultStore: boolean;
  /** Whether its store is a `memoryStore`, asked for or not: another process begins with an empty one. */
  readonly isInMemory: boolean;
  /** Its handlers. What has none is answered 200, and the store never holds its id. */
  readonly routes: Routes;
}

/** Undefined for an object that a user wrote. Its type is not public, so that a release can change it. */
export function internalsOf(
  receiver: Pick<WebhookReceiver, "internal">,
): ReceiverInternals | undefined {
  return receiver.internal as ReceiverInternals | undefined;
}
