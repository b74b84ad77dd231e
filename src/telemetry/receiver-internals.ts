import type { WebhookResponse } from "../answer/answer.js";
import { Log } from "../answer/logger.js";
import type { RecoverableDelivery } from "../delivery/recovered-delivery.js";
import type { Tally } from "./tally.js";

/** The member `internals` of a receiver: what our own adapters, metrics and commands need beyond its public members. */
export interface ReceiverInternals {
  /** Whether `drain` was called. Adapters then close connections, so that senders turn to another process. */
  readonly isDraining: () => boolean;
  /** How long its store remembers an id. */
  readonly retentionMs?: number;
  /** Writes a line that belongs to no outcome. */
  readonly log: Log;
  /** Logs that an answer did not reach the sender. `reason`: a fixed sentence without its final period. */
  readonly logLostAnswer: (
    answer: WebhookResponse | undefined,
    reason: string,
    error?: unknown,
  ) => void;
  /** What `metricsText` shows. */
  readonly tally?: Tally;
  /** Handles a delivery without a signature. */
  readonly recover?: (delivery: RecoverableDelivery) => Promise<WebhookResponse>;
}

/** For a receiver that a user wrote, which has no log and does not tell when it drains. */
const NONE: ReceiverInternals = {
  isDraining: () => false,
  log: new Log(false),
  logLostAnswer: () => undefined,
};

/** The internals of a receiver, or of what wraps one; internals that do nothing if it has none. */
export function internalsOf(receiver: object): ReceiverInternals {
  return (receiver as { readonly internals?: ReceiverInternals }).internals ?? NONE;
}
