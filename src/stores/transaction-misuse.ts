/**
 * A handler did with `tx` what is the store's to do, and its delivery is not acknowledged; or it used `tx`
 * after it had settled, which changes nothing any more.
 */
export class TransactionMisuseError extends Error {
  override readonly name = "TransactionMisuseError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_misuse";
}

/** Of a use of `tx` that would reach the next delivery, or no transaction at all. */
export const LATE =
  "tx was used after the handler had settled: wait for everything that it started";
