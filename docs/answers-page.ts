import { REQUEST_FILE } from "../cli/explain-page.js";
import {
  OUTCOMES,
  VARIANTS,
  type OutcomeRule,
  type WebhookOutcome,
} from "../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../src/answer/outcome-causes.js";
import { putBetween } from "./put-between.js";

const NAMES = Object.keys(OUTCOMES) as WebhookOutcome[];

/** docs/answers.md with the causes of each outcome made anew between their marks. */
export function answersPage(page: string): string {
  const sections = NAMES.flatMap((outcome) => {
    const causes = causesOf(outcome);
    return causes.length === 0 ? [] : [`### ${outcome}`, ...causes];
  });
  return putBetween(page, "src/answer/outcome-causes.ts", sections.join("\n\n"));
}

/** What the site's page of each outcome says, made of the tables that the log and the command line use. */
export function outcomePages(): readonly {
  readonly outcome: WebhookOutcome;
  readonly text: string;
}[] {
  return NAMES.map((outcome) => {
    const variants = Object.values(VARIANTS).filter((variant) => variant.outcome === outcome);
    const causes = causesOf(outcome);
    const text = [
      ...[OUTCOMES[outcome], ...variants].map(
        (rule) => `${rule.message} ${answerOf(rule)} ${logOf(outcome, rule)}`,
      ),
      ...(causes.length === 0 ? [] : ["Usual causes:", ...causes]),
      ...(causes.some((part) => part.includes("request.txt")) ? [REQUEST_FILE] : []),
    ];
    return { outcome, text: text.join("\n\n") };
  });
}

function causesOf(outcome: WebhookOutcome): readonly string[] {
  const { causes, command } = OUTCOME_CAUSES[outcome];
  return [
    ...(causes.length === 0 ? [] : [causes.map((cause) => `- ${cause}`).join("\n")]),
    ...(command === undefined ? [] : [`To find out more: \`${command}\``]),
  ];
}

function answerOf({ status, rejectStatus, retryAfterMs }: OutcomeRule): string {
  const delay = retryAfterMs === undefined ? "" : " with `Retry-After`";
  const rejected =
    rejectStatus === undefined ? "" : `, or ${rejectStatus} with \`unverifiable: "reject"\``;
  return `Answered ${status}${delay}${rejected}.`;
}

function logOf(outcome: WebhookOutcome, { log, rateLimit }: OutcomeRule): string {
  if (outcome === "unhandled") return "One warning for each type.";
  if (log === undefined) return "Not logged.";
  const level = log === "warn" ? "a warning" : "an error";
  if (rateLimit === undefined) return `Logged as ${level}.`;
  const perId = rateLimit === "by_id" ? " for each delivery id" : "";
  return `Logged as ${level}, at most one line a minute${perId}.`;
}
