/** The rules. Each name says what happened when the rule is broken. */
export type Rule =
  /** Answered 2xx, but without an effect at the end. */
  | "lost"
  /** Answered 2xx before any effect. Not in inbox mode, where that is the purpose. */
  | "acknowledged too early"
  /** An effect that must exist exactly once is missing or exists more than once. */
  | "not exactly once"
  /** A second effect although the delivery had no crash and no lost lease. */
  | "unexplained double"
  /** A handler called after the delivery was answered 2xx, without a crash or a lost lease. */
  | "run after completion"
  /** A receiver ran a delivery that it was running, or had handled, itself. No lost lease excuses that. */
  | "twice in one process"
  /** A forged delivery had an effect, a row in the store, or a wrong answer. */
  | "forgery got in"
  /** A status that does not belong to the outcome, or an outcome outside the table. */
  | "undocumented answer"
  /** The sender gave up a genuine delivery after a final status. */
  | "given up"
  /** A request from the gateway was refused as a forgery, as malformed or as too old. */
  | "genuine refused"
  /** A redelivery was answered "in flight" although the running handler should have been given up. */
  | "held too long"
  /** One receiver ran more handlers at once than allowed. */
  | "too many at once"
  /** The receivers had more connections to the store's server than their pools may open. */
  | "too many connections"
  /** More deliveries used all their attempts than the mode allows. */
  | "too many exhausted"
  /** A job killed more processes than the mode allows, or was not dead at the end. */
  | "never dead"
  /** The run ended with an unfinished delivery or job. */
  | "unfinished"
  /** A receiver ended by itself. */
  | "receiver ended";

/** One broken rule. */
export interface Violation {
  readonly rule: Rule;
  /** The observation, with the id of the delivery. */
  readonly detail: string;
}

/** Result of the checker. */
export interface CheckResult {
  readonly violations: readonly Violation[];
  /** Number of effects or jobs. */
  readonly effects: number;
  /** Second and further effects after a recorded crash or lost lease. */
  readonly explainedDoubles: number;
  /** How many of the explained doubles ran with `context.takeover` false. */
  readonly unwarnedDoubles: number;
  readonly unexplainedDoubles: number;
  /**
   * Acknowledged deliveries with neither a record nor an effect, because a standby took over that had not received
   * them.
   */
  readonly explainedLosses: number;
  /** Deliveries that the sender gave up after its last attempt. */
  readonly exhausted: number;
  /** Number of runs that never settled. */
  readonly stuck: number;
  /** Number of times that an operator has replayed a dead job. */
  readonly replayed: number;
  /** Number of answers with the outcome `overloaded`. */
  readonly overloaded: number;
  /** The largest number of handlers that ran at once in one receiver. */
  readonly mostAtOnce: number;
}
