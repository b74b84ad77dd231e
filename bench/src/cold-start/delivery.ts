/** One delivery that was signed beforehand, in text alone, so that it can be handed to a process. */
export interface ColdDelivery {
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers one delivery. True where it was taken for good. */
export type Answer = (delivery: ColdDelivery) => boolean | Promise<boolean>;

/** What one fresh process measured. */
export interface ColdStart {
  /** From the start of the process to the first line of its script, in milliseconds: Node's own. */
  readonly bootMs: number;
  /** From there to the first answer, in milliseconds. */
  readonly answerMs: number;
  /** Whether the delivery was taken for good. */
  readonly isGood: boolean;
}
