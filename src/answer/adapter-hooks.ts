import type { WebhookResponse } from "./answer.js";
import { Log } from "./logger.js";

/** What adapters and the command line need of a receiver beyond its public methods. */
export interface AdapterHooks {
  /**
   * Whether `drain` was called. Adapters then close connections, so that senders turn to another process.
   */
  readonly isDraining: () => boolean;
  /** How long its store remembers an id. Undefined for a receiver that a user wrote. */
  readonly retentionMs?: number;
  /** Writes a line that belongs to no outcome. */
  readonly log: Log;
  /** Logs that an answer did not reach the sender. `reason`: a fixed sentence without its final period. */
  readonly logLostAnswer: (
    answer: WebhookResponse | undefined,
    reason: string,
    error?: unknown,
  ) => void;
}

/**
 * Made by `Symbol.for` and enumerable, so that the hooks survive `{ ...receiver }` and work between two
 * copies of the package.
 */
const ADAPTER_HOOKS = Symbol.for("identity-gateway-webhooks.adapterHooks");

/** For a receiver that a user wrote, which has no log and does not tell when it drains. */
const NO_HOOKS: AdapterHooks = {
  isDraining: () => false,
  log: new Log(false),
  logLostAnswer: () => undefined,
};

/**
 * A copy of `receiver` with its adapter hooks. They have no public name, so only our own code finds them.
 */
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
