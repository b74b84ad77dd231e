/** The invariants. Each names what happened where it does not hold. */
export type Rule =
  /** Answered 2xx, and no effect in the end. */
  | "lost"
  /** Answered 2xx before any effect. Not in inbox mode, where that is the purpose. */
  | "acknowledged too early"
  /** An effect that has to be there exactly once is there more often, or is missing. */
  | "not exactly once"
  /** A second effect without a crash or a lease loss of that delivery. */
  | "unexplained double"
  /** A handler called after the delivery was answered 2xx, without such a loss. */
  | "run after completion"
  /** A forged delivery had an effect, a row in the store, or an answer of its own. */
  | "forgery got in"
  /** A status that the outcome does not have, or none of the table. */
  | "undocumented answer"
  /** The sender gave a genuine delivery up after a final status. */
  | "given up"
  /** A request of the gateway was answered as if it were not the gateway's, or too old. */
  | "genuine refused"
  /** A copy was answered "in flight" when the run that held the delivery had to be given up. */
  | "held too long"
  /** More handlers ran at once in one receiver than it may run. */
  | "too many at once"
  /** The receivers had more connections to their store's server than their pools may open. */
  | "too many connections"
  /** The run ended with a delivery under way, or a job unfinished. */
  | "unfinished"
  /** A receiver ended by itself. */
  | "receiver ended";

/** One breach of a rule. */
export interface Violation {
  readonly rule: Rule;
  /** What was seen, with the delivery's id. */
  readonly detail: string;
}

/** What the checker found. */
export interface Verdict {
  readonly violations: readonly Violation[];
  /** Effects, or jobs, that there are. */
  readonly effects: number;
  /** Second and further effects with a recorded crash or lease loss. */
  readonly explainedDoubles: number;
  /** How many of the explained ones ran with `context.takeover` false. */
  readonly unwarnedDoubles: number;
  readonly unexplainedDoubles: number;
  /** Deliveries that the sender gave up after its last attempt. */
  readonly exhausted: number;
  /** Runs that never settled. */
  readonly stuck: number;
  /** Answers of "overloaded". */
  readonly overloaded: number;
  /** The most handlers that ran at once in one receiver. */
  readonly mostAtOnce: number;
}
