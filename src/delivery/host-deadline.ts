import type { WebhookRequest } from "./request.js";

/**
 * Until when the platform lets one request run. A platform that ends or freezes the process with the
 * answer has one, such as AWS Lambda: nothing of a request may go on after it is answered.
 */
export interface HostDeadline {
  /**
   * The handler must have settled by then, or it is given up and its lease left to end. No handler may
   * begin later: the process was frozen meanwhile, and the gateway has its answer. By `performance.now()`.
   */
  readonly handlerUntil: number;
  /** Whole milliseconds for a claim or a handler: `ms`, or less if the deadline is nearer; 0 after it. */
  handlerMs(ms: number): number;
  /** Milliseconds for a store call after the handler: `ms`, or less. Never 0. */
  storeMs(ms: number): number;
}

/** A shared name: an adapter and a receiver may come from two copies of the package. */
const HOST_DEADLINE = Symbol.for("identity-gateway-webhooks.hostDeadline");

/** A request that is answered only when its handler has settled, or at its deadline. */
export function withDeadline(request: WebhookRequest, deadline: HostDeadline): WebhookRequest {
  return Object.assign(request, { [HOST_DEADLINE]: deadline });
}

/** The deadline of a request. Only our adapters set one: it has no public name. */
export function deadlineOf(request: WebhookRequest): HostDeadline | undefined {
  return (request as { readonly [HOST_DEADLINE]?: HostDeadline })[HOST_DEADLINE];
}
