import type { WebhookTarget } from "../sending/target.js";
import type { FaultOptions } from "./faults.js";
import type { RetryOptions } from "./retry-schedule.js";
import type { TwinClock } from "./twin-clock.js";
import type { TwinAttempt, TwinDelivery } from "./twin-delivery.js";
import type { TwinEvent } from "./twin-event.js";
import type { TwinWebhook } from "./twin-webhook.js";
import type { UnlistedStatusRule } from "./attempt-result.js";

/** Options of `createGatewayTwin` that do not depend on how its webhooks are given. */
export interface CommonTwinOptions {
  /** When a delivery is sent again. Default the schedule of the gateway's document. */
  readonly retry?: RetryOptions | undefined;
  /**
   * How long a request waits for its answer. The gateway's document names no time-out. Milliseconds, from 1
   * to 2 147 483 647, default 30 000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether each attempt gets its own timestamp and signature. Default true, since X-Webhook-Timestamp is "when the
   * request was built". With false each attempt repeats the first request, which is stale after minutes.
   */
  readonly refreshTimestamp?: boolean | undefined;
  /**
   * What the twin does after a status that the gateway's document does not mention (a redirect, 405, 410,
   * 413, …). Default `"give_up"`: the worse case, so be prepared for it.
   */
  readonly unlistedStatus?: UnlistedStatusRule | undefined;
  /** Fault injection: how often requests or answers are duplicated or lost. Default never. */
  readonly faults?: FaultOptions | undefined;
  /**
   * Seed of ids, jitter and faults. From 0 to 4 294 967 295, default random. The same seed gives the same
   * ids, so a receiver that remembers the first run takes the second for duplicates.
   */
  readonly seed?: number | undefined;
  /** The clock. Default real time: `createScaledClock()`. */
  readonly clock?: TwinClock | undefined;
  /** Stops all deliveries under way when it aborts, as `close` does. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each request when its answer has arrived. Its errors are ignored. */
  readonly onAttempt?: ((attempt: TwinAttempt) => unknown) | undefined;
  /** Called with each delivery when it ends. Its errors are ignored. */
  readonly onDelivery?: ((delivery: TwinDelivery) => unknown) | undefined;
}

/**
 * Options of a twin with one webhook that receives both types.
 *
 * @experimental
 */
export interface SingleTargetTwinOptions extends CommonTwinOptions {
  /** Where deliveries are sent: a URL, a receiver, or a function from `Request` to `Response`. */
  readonly target: WebhookTarget;
  /** The secret that signs them. Required: `undefined` is refused, so that an unset variable is noticed. */
  readonly secret: string | undefined;
  /** Accepts any TLS certificate of the target's URL. Default false. */
  readonly skipSslVerification?: boolean | undefined;
}

/**
 * Options of a twin with several webhooks, as they are registered at the gateway.
 *
 * @experimental
 */
export interface WebhooksTwinOptions extends CommonTwinOptions {
  /** Each active webhook of a type receives every event of that type. */
  readonly webhooks: readonly TwinWebhook[];
}

/**
 * Options of `createGatewayTwin`.
 *
 * @experimental
 */
export type GatewayTwinOptions = SingleTargetTwinOptions | WebhooksTwinOptions;

/**
 * Options of `deliver`.
 *
 * @experimental
 */
export interface DeliverOptions {
  /**
   * X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. Default a UUID drawn from the seed. Only when
   * one webhook receives the event, since each delivery needs its own id.
   */
  readonly id?: string | undefined;
  /**
   * How many times each attempt sends the request, always with the same id. From 1 to 1 000, default 1. Only
   * the answer to the first counts. The history has all of them.
   */
  readonly times?: number | undefined;
  /** Whether they are sent at the same time. Default false: one after another. */
  readonly concurrent?: boolean | undefined;
  /**
   * A newer event that overtakes this one: the requests of this one are lost until the deliveries of the newer one have
   * ended. So it arrives in a later attempt, when the newer one is handled. An active webhook must receive the newer one.
   */
  readonly overtakenBy?: TwinEvent | undefined;
}

/**
 * Options of `deliverMany`.
 *
 * @experimental
 */
export interface DeliverManyOptions {
  /**
   * How many attempts run at a time. A delivery that waits for its next attempt does not count. From 1 to
   * 10 000, default 64.
   */
  readonly concurrency?: number | undefined;
  /** As in `DeliverOptions`. */
  readonly times?: number | undefined;
  /** As in `DeliverOptions`. */
  readonly concurrent?: boolean | undefined;
}
