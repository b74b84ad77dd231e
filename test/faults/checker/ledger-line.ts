/** Content of a line in a receiver's ledger. */
export type LedgerEvent =
  /** The handler was called. */
  | {
      readonly kind: "start";
      readonly id: string;
      readonly run: number;
      readonly takeover: boolean;
    }
  /** The effect has happened; in a transaction, from the handler's point of view. */
  | { readonly kind: "effect"; readonly id: string; readonly run: number }
  /** The handler returned or threw. */
  | { readonly kind: "end" | "failed"; readonly id: string; readonly run: number }
  /** The handler never settles. */
  | { readonly kind: "stuck"; readonly id: string; readonly run: number }
  /** The handler kills its process now. */
  | { readonly kind: "crash"; readonly id: string; readonly run: number }
  /** The handler's signal aborted. */
  | { readonly kind: "lost"; readonly id: string; readonly run: number }
  /** The store or the queue has recorded the success. */
  | { readonly kind: "settled"; readonly id: string }
  /** The receiver reported that it could not record the success in the store or the queue. */
  | { readonly kind: "unsettled"; readonly id: string }
  /** It has replayed this many dead jobs. It had listed as many more that it then did not find. */
  | { readonly kind: "replayed"; readonly count: number; readonly notFound: number }
  /** The whole process was paused until now. */
  | { readonly kind: "stall"; readonly ms: number };

/** A line with its process and time. */
export type LedgerLine = LedgerEvent & {
  /** Number of the process. Each start has its own number. */
  readonly receiver: number;
  /** Time in milliseconds of the shared clock. */
  readonly at: number;
};
