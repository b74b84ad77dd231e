/** What a line of a receiver's ledger says. */
export type LedgerEvent =
  /** The handler was called. */
  | {
      readonly kind: "start";
      readonly id: string;
      readonly run: number;
      readonly takeover: boolean;
    }
  /** Its effect has happened; in a transaction, as far as the handler can see. */
  | { readonly kind: "effect"; readonly id: string; readonly run: number }
  /** It returned, or threw. */
  | { readonly kind: "end" | "failed"; readonly id: string; readonly run: number }
  /** It never settles. */
  | { readonly kind: "stuck"; readonly id: string; readonly run: number }
  /** Its signal aborted. */
  | { readonly kind: "lost"; readonly id: string; readonly run: number }
  /** The store, or the queue, has taken its success. */
  | { readonly kind: "settled"; readonly id: string }
  /** The receiver said that it could not tell the store, or the queue, of its success. */
  | { readonly kind: "unsettled"; readonly id: string }
  /** The whole process stood still until now. */
  | { readonly kind: "stall"; readonly ms: number };

/** A line, by whom and when. */
export type LedgerLine = LedgerEvent & {
  /** Number of the process: each start of one has its own. */
  readonly receiver: number;
  /** Milliseconds of the shared clock. */
  readonly at: number;
};
