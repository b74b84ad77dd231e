/** One signed delivery as text, so that it can be passed to a process. */
export interface ColdDelivery {
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Receives one delivery. True if it was accepted. */
export type Answer = (delivery: ColdDelivery) => boolean | Promise<boolean>;

/** The result of one fresh process. */
export interface ColdStart {
  /** From the start of the process to the first line of its script, in milliseconds: Node's own. */
  readonly bootMs: number;
  /** From there to the first answer, in milliseconds. */
  readonly answerMs: number;
  /** Whether the delivery was accepted. */
  readonly isGood: boolean;
}
