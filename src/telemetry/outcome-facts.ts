import { OUTCOMES, type WebhookOutcome } from "../answer/outcome.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import type { TypeLabel } from "../delivery/headers.js";

/** Refused requests that may be the gateway's, by the documented type that they claim. */
export const REFUSALS = [...WEBHOOK_TYPES, "none"] as const;
export type RefusedType = (typeof REFUSALS)[number];

/** Outcomes that may lose a webhook type whole, and how many in a row show it. */
export const LOSSES = { unhandled: 1, unrecognized: 5, discarded: 20 } as const;
type Loss = keyof typeof LOSSES;
export const LOSS_NAMES = Object.keys(LOSSES) as readonly Loss[];
export const isLoss = (outcome: WebhookOutcome): outcome is Loss => outcome in LOSSES;
export const LOSS_TYPES: readonly TypeLabel[] = [...REFUSALS, "other"];

/** What is counted until a day has passed without any. */
export const DAILY_RUNS: readonly Run[] = [
  ...LOSS_TYPES.map((type): Run => `unhandled.${type}`),
  "drifted",
];
const OTHER_RUNS = ["stale", "store", "handler", "body", "secret", ...REFUSALS] as const;

/** One of the failures that are counted in a row. */
export type Run = (typeof OTHER_RUNS)[number] | `${Loss}.${TypeLabel}` | "drifted";
/** The failures that are counted in a row, until one request shows that they are over. */
export const RUNS: readonly Run[] = [
  ...OTHER_RUNS,
  ...DAILY_RUNS,
  ...LOSS_TYPES.flatMap(lossesEndedBy),
];

/** What an outcome says about the health of the receiver. */
export interface OutcomeFacts {
  readonly isAuthentic: boolean;
  /** Whether the delivery is handled, now or before, or discarded: it needs no further attempt. */
  readonly isDone: boolean;
  readonly ranHandler: boolean;
  /** The run that it prolongs. */
  readonly prolongs: Run | undefined;
  /** The runs that it ends. */
  readonly ends: readonly Run[];
}

const VERIFIED: readonly Run[] = ["body", "secret"];
const FRESH: readonly Run[] = [...VERIFIED, "stale"];
const CLAIMED: readonly Run[] = [...FRESH, "store"];

/** Which run an outcome prolongs, and which it ends. */
type Effects = Partial<
  Record<WebhookOutcome, { readonly prolongs?: Run; readonly ends?: readonly Run[] }>
>;

const OF_AUTHENTIC: Effects = {
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

/** Others say nothing. */
const EFFECTS: Effects = {
  ...OF_AUTHENTIC,
  unsigned: { ends: ["body"] },
  signature_mismatch: { ends: VERIFIED },
  body_consumed: { prolongs: "body" },
  secret_unavailable: { prolongs: "secret", ends: ["body"] },
};

const NAMES = Object.keys(OUTCOMES) as readonly WebhookOutcome[];

/** The outcomes of authentic requests. */
export const AUTHENTIC = NAMES.filter((name) => name in OF_AUTHENTIC);
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

/** The refusals that an authentic delivery of a type ends. */
export const REFUSALS_ENDED: Readonly<Record<TypeLabel, readonly Run[]>> = {
  new_alarm: ["new_alarm", "none"],
  delete_my_data_event: ["delete_my_data_event", "none"],
  other: ["none"],
  none: [],
};

/** The losses that a handled delivery of a type ends. */
export const LOSSES_ENDED = Object.fromEntries(
  LOSS_TYPES.map((type) => [type, lossesEndedBy(type)]),
) as Readonly<Record<TypeLabel, readonly Run[]>>;

function lossesEndedBy(type: TypeLabel): readonly Run[] {
  return [`unrecognized.${type}`, `discarded.${type}`];
}

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
        prolongs,
        ends,
      },
    ];
  }),
) as Readonly<Record<WebhookOutcome, OutcomeFacts>>;
