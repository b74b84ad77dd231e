import type { WebhookResponse } from "./answer.js";
import type { WebhookReceiver } from "../receiver.js";

/** What adapters need of a receiver beside its public methods. */
export interface AdapterSide {
  /** Whether `drain` was called, so that the sender should use another connection. */
  readonly isDraining: () => boolean;
  /** Writes an error line: the answer did not go out. `reason` is a sentence of ours without its period. */
  readonly logLostAnswer: (
    answer: WebhookResponse | undefined,
    reason: string,
    error?: unknown,
  ) => void;
}

/** By `Symbol.for` and enumerable: a receiver that is spread, or from another copy of the package, has it. */
const ADAPTER_SIDE = Symbol.for("identity-gateway-webhooks.adapterSide");

/** A receiver of the partner's own making has no log and is never known to drain. */
const NONE: AdapterSide = { isDraining: () => false, logLostAnswer: () => undefined };

/** The receiver with its side for adapters, under no public name. */
export function withAdapterSide(receiver: WebhookReceiver, side: AdapterSide): WebhookReceiver {
  return Object.assign({ [ADAPTER_SIDE]: side }, receiver);
}

/** The side for adapters of a receiver. */
export function adapterSideOf(receiver: WebhookReceiver): AdapterSide {
  return (receiver as { readonly [ADAPTER_SIDE]?: AdapterSide })[ADAPTER_SIDE] ?? NONE;
}
