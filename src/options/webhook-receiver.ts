import type { WebhookResponse } from "../answer/answer.js";
import type { WebhookRequest } from "../delivery/request.js";
import type { HealthOptions, ReceiverHealth } from "../telemetry/health.js";
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
   * What our adapters, `metricsText` and `recoverDelivery` need beyond the other members. Leave it as it is, and pass it
   * on if you wrap a receiver: `{ ...receiver }` does. A wrapper without it is served by every adapter, but its
   * connections stay open at `drain`, and what no answer reached is not logged.
   *
   * @internal
   */
  readonly internals?: object;
}
