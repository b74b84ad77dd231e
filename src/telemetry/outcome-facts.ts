import { OUTCOMES, type WebhookOutcome } from "../answer/outcome.js";

/** The failures that are also counted in a row, until one request shows that they are over. */
export const RUNS = ["mismatch", "stale", "store", "handler", "body", "secret"] as const;

/** One of the failures that are counted in a row. */
export type Run = (typeof RUNS)[number];

/** What an outcome says about the health of the receiver. */
export interface OutcomeFacts {
  readonly isAuthentic: boolean;
  /** Whether the delivery is handled, now or before, or discarded: it needs no further attempt. */
  readonly isDone: boolean;
  readonly ranHandler: boolean;
  /** The run that it prolongs: an index of `RUNS`, -1 for none. */
  readonly prolongs: number;
  /** The runs that it ends: a bit for each index of `RUNS`. */
  readonly ends: number;
}

const VERIFIED: readonly Run[] = ["mismatch", "body", "secret"];
const FRESH: readonly Run[] = [...VERIFIED, "stale"];
const CLAIMED: readonly Run[] = [...FRESH, "store"];

/** Which run an outcome prolongs, and which it ends. Others say nothing. */
const EFFECTS: Partial<
  Record<WebhookOutcome, { readonly prolongs?: Run; readonly ends?: readonly Run[] }>
> = {
  unsigned: { prolongs: "mismatch", ends: ["body"] },
  signature_mismatch: { prolongs: "mismatch", ends: ["body", "secret"] },
  body_consumed: { prolongs: "body" },
  secret_unavailable: { prolongs: "secret", ends: ["body"] },
  stale: { prolongs: "stale", ends: VERIFIED },
  type_mismatch: { ends: FRESH },
  unrecognized: { ends: FRESH },
  unhandled: { ends: FRESH },
  overloaded: { ends: FRESH },
  in_flight: { ends: FRESH },
  duplicate: { ends: FRESH },
  store_unavailable: { prolongs: "store", ends: FRESH },
  handler_failed: { prolongs: "handler", ends: CLAIMED },
  handler_timeout: { prolongs: "handler", ends: CLAIMED },
  retry_later: { ends: CLAIMED },
  handled: { ends: [...CLAIMED, "handler"] },
  discarded: { ends: [...CLAIMED, "handler"] },
};

const NAMES = Object.keys(OUTCOMES) as readonly WebhookOutcome[];

/** The outcomes of authentic requests. */
export const AUTHENTIC = NAMES.filter((name) => EFFECTS[name]?.ends?.includes("mismatch"));
/** The outcomes of deliveries that need no further attempt. */
export const DONE: readonly WebhookOutcome[] = ["handled", "discarded", "duplicate"];
/** The outcomes of deliveries whose handler ran. */
export const RAN: readonly WebhookOutcome[] = [
  "handled",
  "discarded",
  "handler_failed",
  "handler_timeout",
  "retry_later",
];

/** The facts of every outcome. */
export const OUTCOME_FACTS = Object.fromEntries(
  NAMES.map((outcome): [WebhookOutcome, OutcomeFacts] => {
    const { prolongs, ends = [] } = EFFECTS[outcome] ?? {};
    return [
      outcome,
      {
        isAuthentic: AUTHENTIC.includes(outcome),
        isDone: DONE.includes(outcome),
        ranHandler: RAN.includes(outcome),
        prolongs: prolongs === undefined ? -1 : RUNS.indexOf(prolongs),
        ends: ends.reduce((bits, run) => bits | (1 << RUNS.indexOf(run)), 0),
      },
    ];
  }),
) as Readonly<Record<WebhookOutcome, OutcomeFacts>>;
