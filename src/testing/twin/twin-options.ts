import type { Target } from "../sending/target.js";
import type { FaultOptions } from "./faults.js";
import type { RetryOptions } from "./retry-schedule.js";
import type { TwinClock } from "./twin-clock.js";
import type { TwinAttempt, TwinDelivery } from "./twin-delivery.js";
import type { TwinWebhook } from "./twin-webhook.js";
import type { UnlistedStatusRule } from "./verdict.js";

/** What of a twin can be set beside its webhooks. */
export interface CommonTwinOptions {
  /** When a delivery is sent again. */
  readonly retry?: RetryOptions | undefined;
  /**
   * When a request without an answer counts as a time-out. The gateway's document names none.
   * Milliseconds, from 1 to 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether each attempt is a request built anew, with the time of that moment and signed with it.
   * Default true, as X-Webhook-Timestamp is "when the request was built" (GATEWAY.md, "Events"). With
   * false the first one is sent again as it was, so that it is stale after minutes.
   */
  readonly refreshTimestamp?: boolean | undefined;
  /**
   * What happens after a status of which the gateway's document says nothing (a redirect, 405, 410,
   * 413, …). Default `"give_up"`, the one that costs an alarm and so the one to be prepared for.
   */
  readonly unlistedStatus?: UnlistedStatusRule | undefined;
  /** What goes wrong on the way, at random. Default nothing. */
  readonly faults?: FaultOptions | undefined;
  /**
   * Decides ids, jitter and faults. From 0 to 4 294 967 295, default drawn. To a receiver that
   * remembers, a second run with the same seed is made of duplicates.
   */
  readonly seed?: number | undefined;
  /** The time it lives in. Default real time: `createScaledClock()`. */
  readonly clock?: TwinClock | undefined;
  /** Stops all deliveries under way, as `close` does. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each request when it is answered. It may throw or reject without effect. */
  readonly onAttempt?: ((attempt: TwinAttempt) => unknown) | undefined;
  /** Called with each delivery when it ends. It may throw or reject without effect. */
  readonly onDelivery?: ((delivery: TwinDelivery) => unknown) | undefined;
}

/** A twin with one webhook that takes both types. */
export interface SingleTargetTwinOptions extends CommonTwinOptions {
  /** Where deliveries go. */
  readonly target: Target;
  /** The secret they are signed with. */
  readonly secret: string | undefined;
  /** Takes any TLS certificate of the target's URL. Default false. */
  readonly skipSslVerification?: boolean | undefined;
}

/** A twin with webhooks as they are registered at the gateway. */
export interface WebhooksTwinOptions extends CommonTwinOptions {
  /** Each active webhook of a type receives every event of that type (GATEWAY.md, "Events", rule 1). */
  readonly webhooks: readonly TwinWebhook[];
}

/** Options of `createGatewayTwin`. */
export type GatewayTwinOptions = SingleTargetTwinOptions | WebhooksTwinOptions;

/** How one event is delivered. */
export interface DeliverOptions {
  /**
   * X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`, default a UUID by the seed. Only where a
   * single webhook takes the event, since each delivery has its own.
   */
  readonly id?: string | undefined;
  /**
   * How many requests each attempt makes, all with the same id. From 1 to 1 000, default 1. The answer
   * of the first decides; the others are in the history.
   */
  readonly copies?: number | undefined;
  /** Whether the copies are sent at once (true), or one after another (default). */
  readonly concurrent?: boolean | undefined;
}

/** How many events are delivered. */
export interface DeliverManyOptions {
  /** How many attempts are under way at a time; waiting for the next is none. From 1 to 10 000, default 64. */
  readonly concurrency?: number | undefined;
  /** As in `DeliverOptions`. */
  readonly copies?: number | undefined;
  /** As in `DeliverOptions`. */
  readonly concurrent?: boolean | undefined;
}
