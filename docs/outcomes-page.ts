import { REQUEST_FILE } from "../cli/explain-page.js";
import {
  OUTCOMES,
  VARIANTS,
  type OutcomeRule,
  type WebhookOutcome,
} from "../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../src/answer/outcome-causes.js";

const INTRODUCTION = `# Outcomes

Every request ends with one outcome. It is in the answer, in the report of \`onOutcome\`, and at the start of the log line. This page has one section for each outcome. It is generated from the tables that the log and the command line use.\n\nA delivery that the gateway counts as received, and that is in no log of yours, has no outcome: something in front answered it 2xx. [Answers that are not ours](answers.md#answers-that-are-not-ours)\n\n\`doctor\` sends about 2 000 requests, and the endpoint handles about 850 made-up deliveries as if they were real: do not run it against production.`;

/** The text of docs/outcomes.md, generated from the tables of outcomes. */
export function outcomesPage(): string {
  const sections = (Object.keys(OUTCOMES) as WebhookOutcome[]).map(sectionOf);
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

function sectionOf(outcome: WebhookOutcome): string {
  const { causes, command } = OUTCOME_CAUSES[outcome];
  const variants = Object.values(VARIANTS).filter((variant) => variant.outcome === outcome);
  return [
    `## ${outcome}`,
    ...[OUTCOMES[outcome], ...variants].map(
      (rule) => `${rule.message} ${answerOf(rule)} ${logOf(outcome, rule)}`,
    ),
    ...(causes.length === 0
      ? []
      : ["Usual causes:", causes.map((cause) => `- ${cause}`).join("\n")]),
    ...(command === undefined ? [] : ["To find out more:", `\`\`\`sh\n${command}\n\`\`\``]),
    ...(command?.includes("request.txt") === true ? [REQUEST_FILE] : []),
  ].join("\n\n");
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
