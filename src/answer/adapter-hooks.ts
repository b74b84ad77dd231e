import type { WebhookResponse } from "./answer.js";

/** What adapters need of a receiver beyond its public methods. */
export interface AdapterHooks {
  /** Whether `drain` was called, so that the sender should use another connection. */
  readonly isDraining: () => boolean;
  /** Logs that an answer did not reach the sender. `reason` is our own sentence, without its period. */
  readonly logLostAnswer: (
    answer: WebhookResponse | undefined,
    reason: string,
    error?: unknown,
  ) => void;
}

/** `Symbol.for` and enumerable: a spread receiver, or one of a second copy of the package, keeps it. */
const ADAPTER_HOOKS = Symbol.for("identity-gateway-webhooks.adapterHooks");

/** For a receiver that a user wrote: it has no log, and no one knows when it drains. */
const NO_HOOKS: AdapterHooks = { isDraining: () => false, logLostAnswer: () => undefined };

/** `receiver` with its adapter hooks, which have no public name. */
export function withAdapterHooks<Receiver extends object>(
  receiver: Receiver,
  hooks: AdapterHooks,
): Receiver {
  return Object.assign({ [ADAPTER_HOOKS]: hooks }, receiver);
}

/** The adapter hooks of `receiver`; hooks that do nothing if it has none. */
export function adapterHooksOf(receiver: object): AdapterHooks {
  return (receiver as { readonly [ADAPTER_HOOKS]?: AdapterHooks })[ADAPTER_HOOKS] ?? NO_HOOKS;
}
