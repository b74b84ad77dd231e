import type { HeaderLine } from "../sending/wire.js";

/** `must`: broken, an alarm can be lost, doubled or forged. `should`: it costs something less. */
export type ConformanceLevel = "must" | "should";

/** What a case is about, in the order of a report. */
export const CONFORMANCE_GROUPS = [
  "handling",
  "giving up",
  "once",
  "forgery",
  "headers",
  "transport",
  "manners",
] as const;

/** What a case is about. */
export type ConformanceGroup = (typeof CONFORMANCE_GROUPS)[number];

/** One request of a case and what came back. The secret stands nowhere in it. */
export interface ConformanceExchange {
  readonly sent: {
    readonly method: string;
    readonly headers: readonly HeaderLine[];
    /** Length of the body. */
    readonly bytes: number;
  };
  /** `body` is cut after 500 characters; `error` says why no answer came. */
  readonly received:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
        readonly ms: number;
      }
    | { readonly error: string };
}

/** How a case ended that did not fail. */
export interface ConformanceResult {
  /** `not_judged`: it cannot be seen from outside with what was given; `reason` says what is missing. */
  readonly verdict: "passed" | "not_judged";
  /** Always beside `not_judged`; beside `passed` where the receiver was taken at its word. */
  readonly reason?: string | undefined;
  readonly exchanges: readonly ConformanceExchange[];
}

/** What a case is, before it is bound to a receiver. */
export interface ConformanceDescription {
  /** Stable, so that a report can name it. */
  readonly id: string;
  readonly level: ConformanceLevel;
  readonly group: ConformanceGroup;
  /** What a receiver has to do. */
  readonly title: string;
  /** What is lost where it does not. */
  readonly why: string;
  /** How that is mended. */
  readonly mend: string;
}

/** One requirement on a receiver, for any test runner: `test(title, run)`. */
export interface ConformanceCase extends ConformanceDescription {
  /** Rejects with a `ConformanceFailure` where the receiver does otherwise. May be run again. */
  readonly run: () => Promise<ConformanceResult>;
}

/** A receiver did otherwise. The message says what was expected and what came. */
export class ConformanceFailure extends Error {
  override readonly name = "ConformanceFailure";
  /** Stable, so that code can branch on it. */
  readonly code = "conformance_failed";
  readonly caseId: string;
  readonly why: string;
  readonly mend: string;
  /** Every request of the case up to the one that was answered wrongly, the last. */
  readonly exchanges: readonly ConformanceExchange[];

  constructor(
    message: string,
    { id, why, mend }: ConformanceDescription,
    exchanges: readonly ConformanceExchange[],
  ) {
    super(message);
    this.caseId = id;
    this.why = why;
    this.mend = mend;
    this.exchanges = exchanges;
  }
}
