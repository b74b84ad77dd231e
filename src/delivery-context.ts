/** What a handler is told about its delivery. */
export interface DeliveryContext {
  /** X-Webhook-Id: the same for every attempt and copy of this delivery. */
  readonly id: string;
  /** The webhook type, which header and signed body agree on; for `unrecognized`, the header's claim. */
  readonly type: string;
  /** X-Webhook-Timestamp. */
  readonly timestamp: Date;
  /** The exact bytes that were signed. */
  readonly rawBody: Uint8Array;
  /**
   * Aborts when `handlerTimeoutMs` has passed or the lease is lost. The handler may go on: a late
   * success still completes the delivery.
   */
  readonly signal: AbortSignal;
  /** True where an earlier run of this delivery ended without a verdict, so its effect may be there. */
  readonly takeover: boolean;
}

/** A context, and the way to abort its signal. */
export interface AbortableContext {
  readonly context: DeliveryContext;
  readonly abort: (reason: Error) => void;
}

/** Makes a context. The signal is made when it is first asked for: most handlers never do. */
export function createContext(facts: Omit<DeliveryContext, "signal">): AbortableContext {
  let controller: AbortController | undefined;
  let aborted: Error | undefined;
  return {
    context: {
      ...facts,
      get signal() {
        if (controller === undefined) {
          controller = new AbortController();
          if (aborted !== undefined) controller.abort(aborted);
        }
        return controller.signal;
      },
    },
    abort(reason) {
      aborted ??= reason;
      controller?.abort(reason);
    },
  };
}
