import { resultOfStatus, type WebhookOutcome } from "../../src/answer/outcome.js";

/** Each way in which the old code can differ, and what it means. */
export const ADVICE = {
  wrong_secret:
    "Your code accepted it, and none of this type was signed with the secret given to shadow. Give it the secret of the webhook.",
  accepted_forgery:
    "Your code accepted it, and it is not signed with your secret. It is a forgery, or of a webhook with another secret.",
  accepted_stale:
    "Your code accepted it although its time is off. A captured delivery can be sent again for ever, or the clock of this machine is wrong.",
  accepted_unrecognized:
    "Your code accepted a record that this library does not know. After the move it needs the handler `unrecognized`.",
  refused_genuine: "Your code refused a genuine delivery for good: the gateway gives it up.",
  final_status:
    "The delivery is signed by the gateway. With this status it is given up; with a retryable one it is sent again.",
  not_retryable:
    "The gateway's document does not mention this status. Expect that the delivery is given up.",
  final_refusal:
    "Your code refuses bad signatures for good. On the day on which your secret is wrong, every delivery is given up.",
  ran_again: "Your code handled this delivery a second time.",
  hidden_failure: "Your code failed and acknowledged the delivery: no one sends it again.",
  not_run: "Your code acknowledged the delivery and ran nothing for it.",
} as const;

/**
 * How the old code differs from this library. May gain members in a minor version. The last three are known from
 * `observe` alone.
 *
 * @experimental
 */
export type ShadowDifference = keyof typeof ADVICE;

/** What stands against the move: after it, the library would refuse what the old code takes. */
const OBSTACLES: readonly ShadowDifference[] = [
  "wrong_secret",
  "accepted_forgery",
  "accepted_stale",
  "accepted_unrecognized",
];

/**
 * One request that the old code answered in another way than this library would. Holds nothing of the body.
 *
 * @experimental
 */
export interface ShadowReport {
  /** X-Webhook-Id, if the request is authentic. */
  readonly id?: string;
  /** X-Webhook-Type, if the request is authentic. */
  readonly type?: string;
  /** What this library would have answered, had its handler finished. */
  readonly ours: { readonly outcome: WebhookOutcome; readonly status: number };
  /** What the old code answered. */
  readonly theirs: { readonly status: number };
  /** How they differ. */
  readonly difference: ShadowDifference;
  /** What it means, in one or two sentences. */
  readonly advice: string;
}

/** The outcomes of a genuine delivery that this library takes. */
const TAKEN: readonly WebhookOutcome[] = ["handled", "duplicate", "in_flight"];
/** Outcomes that say something of our side and nothing of the request. */
export const UNJUDGED: readonly WebhookOutcome[] = [
  ...(["body_consumed", "body_timeout", "body_too_large", "draining", "internal_error"] as const),
  ...(["overloaded", "secret_unavailable", "store_unavailable"] as const),
];

/**
 * How two answers differ; undefined if they are alike. A retryable answer of the old code to a genuine delivery
 * counts as alike: its handler may have failed. `isVerified`: whether our secret fits deliveries of this type.
 */
export function differenceOf(
  outcome: WebhookOutcome,
  theirStatus: number,
  isVerified: boolean,
): ShadowDifference | undefined {
  const theirs = resultOfStatus(theirStatus);
  const isGenuine = TAKEN.includes(outcome) || outcome === "stale" || outcome === "unrecognized";
  if (theirs === "retryable") return undefined;
  if (theirs === "unlisted") return isGenuine ? "not_retryable" : undefined;
  if (theirs === "final") {
    if (!isGenuine) return outcome === "signature_mismatch" ? "final_refusal" : undefined;
    return outcome === "stale" ? "final_status" : "refused_genuine";
  }
  if (TAKEN.includes(outcome)) return undefined;
  if (outcome === "stale") return "accepted_stale";
  if (outcome === "unrecognized") return "accepted_unrecognized";
  return outcome === "signature_mismatch" && !isVerified ? "wrong_secret" : "accepted_forgery";
}

/** What is known of a request that was compared. */
export type Compared = Omit<ShadowReport, "difference" | "advice">;

/**
 * What was compared so far, for metrics.
 *
 * @experimental
 */
export interface ShadowCounts {
  /** When the first request was compared; undefined before. */
  readonly since: Date | undefined;
  /** Requests that were compared. */
  readonly compared: number;
  /** Of them, those that are signed with the secret. */
  readonly authentic: number;
  /** Requests that were not: no answer, a body over the limit, a body that something read before. */
  readonly notCompared: number;
  /** How often each difference was found. */
  readonly differences: Readonly<Partial<Record<ShadowDifference, number>>>;
}

/** One paragraph for a person: what was compared, what differed, and whether to move. */
export function summaryOf(counts: ShadowCounts, nowMs: number): string {
  const { since, compared, authentic, notCompared, differences } = counts;
  const found = Object.entries(differences) as [ShadowDifference, number][];
  const days = Math.ceil((nowMs - (since?.getTime() ?? nowMs)) / 86_400_000);
  const alike = compared - found.reduce((sum, [, count]) => sum + count, 0);
  const parts = found.map(([code, count]) => `${count} × ${code}`);
  const reasons = found
    .filter(([code]) => OBSTACLES.includes(code))
    .map(([code]) => `${code}: ${ADVICE[code]}`);
  if (authentic === 0) reasons.unshift("no genuine delivery was compared yet.");
  const advice = reasons.length === 0 ? "yes" : `no, because ${reasons.join(" ")}`;
  const list = [`${Math.max(0, alike)} alike`, ...parts, `${notCompared} not compared`].join(", ");
  return `${compared} requests in ${days} day(s): ${list}. Safe to move: ${advice}`;
}
