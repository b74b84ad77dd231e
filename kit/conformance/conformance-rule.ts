import type { CaseContext } from "./case-context.js";
import type { ConformanceLevel, FailureCode } from "./conformance-case.js";
import type { ConformanceSettings, OptionNames, RuleNeed } from "./conformance-options.js";
import type { KeptConnection } from "./connections.js";
import type { NamedDeliveries } from "./test-deliveries.js";

/** The deliveries or requests of a rule, each with its name. */
export type MakeDeliveries = (context: CaseContext) => Promise<NamedDeliveries>;

/** How a rule is checked. A check throws `context.failure(…)`, or `context.notJudged(…)` when it cannot be seen. */
interface Checks {
  /** Genuine deliveries: each must be acknowledged. */
  readonly accept: MakeDeliveries;
  /** Requests that the gateway never sends: each must be refused. */
  readonly refuse: MakeDeliveries;
  /** Requests that may be genuine, if something is wrong on the receiver's side: the gateway must send each again. */
  readonly retry: MakeDeliveries;
  /** Genuine deliveries that the receiver may not know: each must be handled, or the gateway must send it again. */
  readonly acceptOrRetry: MakeDeliveries;
  readonly check: (context: CaseContext) => Promise<void>;
  /** A check that proves something only if the receiver accepts a plain genuine delivery. */
  readonly whenAccepted: (context: CaseContext) => Promise<void>;
  /** The same with the URL of the target, which it needs. */
  readonly atUrl: (context: CaseContext, url: URL) => Promise<void>;
  /** The same with a connection to that URL. */
  readonly onConnection: (context: CaseContext, connection: KeptConnection) => Promise<void>;
}

type OneOf<T> = { [K in keyof T]: Pick<T, K> }[keyof T];

interface Requirement {
  readonly title: string;
  /** Default: `must`. */
  readonly level?: ConformanceLevel;
  readonly needs?: readonly RuleNeed[];
  /** True: no other case runs meanwhile. So it is for each rule that needs a failing or a slow handler. */
  readonly runsAlone?: true;
  /** What to change first. Default: what the group says. `fix`: what the rule itself says. */
  readonly cause?: keyof typeof CAUSES | "fix";
}

interface Reasons {
  readonly why: string;
  readonly fix: string | ((names: OptionNames) => string);
}

/** One requirement, before it is bound to a receiver. Rules of four kinds have a usual reason or a usual fix. */
export type ConformanceRule = Requirement &
  (
    | (Partial<Reasons> & Pick<Reasons, "fix"> & Pick<Checks, "accept">)
    | (Partial<Reasons> & Pick<Checks, "refuse">)
    | (Partial<Reasons> & Pick<Reasons, "why"> & OneOf<Pick<Checks, "retry" | "acceptOrRetry">>)
    | (Reasons & OneOf<Omit<Checks, "accept" | "refuse" | "retry" | "acceptOrRetry">>)
  );

/** Rules by the id of their case. */
export type ConformanceRules = Readonly<Record<string, ConformanceRule>>;

/** What makes cases fail, by what to change. */
export const CAUSES = {
  probe: "Repair the probe: its URL does not answer as doctor expects.",
  others:
    "Let nothing in front answer 2xx in the place of your receiver: what it answers so is lost without a trace.",
  plain:
    "Accept a plain genuine delivery: compare the secret, then what is signed (`v1:timestamp:id:` and the raw body).",
  givenUp:
    "Answer 409 or 503 where you answer 400, 401, 403, 404 or 422: after these the gateway gives up for good.",
  unlisted: "Answer only statuses of the gateway's contract: 409 instead of 405, 413 or 415.",
  early: "Acknowledge a delivery only when it is handled, or safe in a queue.",
  claim:
    "Claim the whole X-Webhook-Id in one atomic step before the handler runs, and remember it when it is handled.",
  hold: "Keep the id claimed while its handler runs, and free it only when the handler has failed.",
  bytes: "Verify and decode the raw bytes as they came, before any parser sees them.",
  clock: "Compare the signed timestamp with your clock: five minutes either way are right.",
  size: "Read bodies up to 1 MiB, and no further.",
  headers:
    "Check the grammar of the four webhook headers first: refuse what is missing, repeated or malformed.",
  type: "Take the type from the signed body, and refuse a header that differs.",
  leak: "Never put the secret, or the signature that you expected, into an answer.",
  silence: "Answer every request, also one that you cannot read.",
  forgery:
    "Verify the whole signature with your secrets alone: HMAC-SHA256, compared in constant time.",
  acceptance:
    "Accept what the gateway may send: unknown fields and values, other formats, odd shapes.",
  retries: "Let the gateway send again what you cannot take yet.",
  idempotency: "Handle each X-Webhook-Id exactly once.",
  transport: "Read each body to its end, whatever the connection does.",
  answers: "Answer a fixed, short text that repeats nothing.",
} as const;

/** Failures that have a cause whatever the case is. */
export const CAUSE_OF_CODE: Readonly<Partial<Record<FailureCode, keyof typeof CAUSES>>> = {
  probe_failed: "probe",
  answered_by_other: "others",
  given_up: "givenUp",
  unlisted_status: "unlisted",
  not_handled: "early",
  handled_again: "claim",
  taken_for_duplicate: "claim",
  no_answer: "silence",
};

/** Nothing else can be judged before these are fixed. */
export const FIRST_CAUSES: readonly string[] = [CAUSES.probe, CAUSES.others, CAUSES.plain];

/** How the signature is computed, for the `fix` of several rules. */
export const COMPUTE_SIGNATURE =
  "Compute HMAC-SHA256 over `v1:` + X-Webhook-Timestamp + `:` + X-Webhook-Id + `:` + the raw body";

/** The beginning of each `why` about statuses that are final. */
export const FINAL_STATUSES_WHY =
  "After 400, 401, 403, 404 or 422 the gateway never sends the delivery again";

/** How to treat genuine deliveries that the receiver does not understand. */
export const LENIENT_FIX =
  "Accept it, or answer 409 or 503 until you can: the gateway sends it again for up to 36 hours.";

const ACCEPT_WHY =
  "The gateway sends such deliveries. It tries a refused one at most ten times, then it is lost.";
const REFUSE_WHY = "Anyone who finds the URL can invent alarms or change real ones.";
const REFUSE_FIX = `${COMPUTE_SIGNATURE}, and compare it in constant time.`;

/** Why a rule is there, and how to fix a receiver that breaks it. */
export function reasonsOf(rule: ConformanceRule, names: OptionNames) {
  const usualFix = "retry" in rule ? "Answer 409." : "refuse" in rule ? REFUSE_FIX : LENIENT_FIX;
  const { why = "refuse" in rule ? REFUSE_WHY : ACCEPT_WHY, fix = usualFix } = rule;
  return { why, fix: typeof fix === "string" ? fix : fix(names) };
}

/** The first need of a rule that the settings do not meet. */
export function unmetNeed(
  rule: ConformanceRule,
  { types, ...settings }: ConformanceSettings,
): RuleNeed | undefined {
  const needsUrl = "atUrl" in rule || "onConnection" in rule;
  const { needs = needsUrl ? (["url"] as const) : [] } = rule;
  return needs.find((need) =>
    need === "new_alarm" || need === "delete_my_data_event"
      ? !types.includes(need)
      : settings[need] === undefined,
  );
}
