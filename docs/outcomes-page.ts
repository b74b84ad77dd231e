import { REQUEST_FILE } from "../cli/explain-page.js";
import { OUTCOMES, type WebhookOutcome } from "../src/answer/outcome.js";
import { OUTCOME_CAUSES } from "../src/answer/outcome-causes.js";

const INTRODUCTION = `# Outcomes

Every request ends with one outcome. It is in the answer, in the report of \`onOutcome\`, and at the start of the log line. This page has one section for each outcome. It is generated from the tables that the log and the command line use.\n\n\`doctor\` sends about 1 950 requests, and the endpoint handles about 850 made-up deliveries as if they were real: do not run it against production.`;

/** The text of docs/outcomes.md, generated from the tables of outcomes. */
export function outcomesPage(): string {
  const sections = (Object.keys(OUTCOMES) as WebhookOutcome[]).map(sectionOf);
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

function sectionOf(outcome: WebhookOutcome): string {
  const { causes, command } = OUTCOME_CAUSES[outcome];
  return [
    `## ${outcome}`,
    `${OUTCOMES[outcome].message} ${answerOf(outcome)} ${logOf(outcome)}`,
    ...(causes.length === 0
      ? []
      : ["Usual causes:", causes.map((cause) => `- ${cause}`).join("\n")]),
    ...(command === undefined ? [] : ["To find out more:", `\`\`\`sh\n${command}\n\`\`\``]),
    ...(command?.includes("request.txt") === true ? [REQUEST_FILE] : []),
  ].join("\n\n");
}

function answerOf(outcome: WebhookOutcome): string {
  const { status, rejectStatus, retryAfterMs } = OUTCOMES[outcome];
  const delay = retryAfterMs === undefined ? "" : " with `Retry-After`";
  const rejected =
    rejectStatus === undefined ? "" : `, or ${rejectStatus} with \`unverifiable: "reject"\``;
  return `Answered ${status}${delay}${rejected}.`;
}

function logOf(outcome: WebhookOutcome): string {
  const { log, rateLimit } = OUTCOMES[outcome];
  if (outcome === "unhandled") return "One warning for each type.";
  if (log === undefined) return "Not logged.";
  const level = log === "warn" ? "a warning" : "an error";
  if (rateLimit === undefined) return `Logged as ${level}.`;
  const perId = rateLimit === "by_id" ? " for each delivery id" : "";
  return `Logged as ${level}, at most one line a minute${perId}.`;
}
