import type { WebhookRequest } from "./request.js";

/**
 * Until when the platform lets one request run, by `performance.now()`. A platform that ends or freezes
 * the process with the answer has one: AWS Lambda. Nothing of a request may go on after it is answered.
 */
export interface HostDeadline {
  /** The handler must have settled by then, or it is given up and its lease left to end. */
  readonly handlerUntil: number;
  /** The store must have answered by then. Later than `handlerUntil`. */
  readonly storeUntil: number;
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

/** Milliseconds for a handler, or for what comes before it: `ms`, or less if the deadline is nearer. */
export function handlerMsWithin(ms: number, deadline: HostDeadline | undefined): number {
  if (deadline === undefined) return ms;
  return Math.max(0, Math.min(ms, deadline.handlerUntil - performance.now()));
}

/**
 * Milliseconds for a store call after the handler: `ms`, or less if the deadline is nearer. A process that
 * was frozen goes on after the deadline; then the call has `ms` again.
 */
export function storeMsWithin(ms: number, deadline: HostDeadline | undefined): number {
  if (deadline === undefined) return ms;
  const leftMs = deadline.storeUntil - performance.now();
  return leftMs > 0 ? Math.min(ms, leftMs) : ms;
}

/** Whether it is too late to begin a handler: its request has been answered, or will be at once. */
export function isPast(deadline: HostDeadline | undefined): boolean {
  return deadline !== undefined && performance.now() >= deadline.handlerUntil;
}
