import { ERROR_CAUSES, ERROR_CODES, type ErrorCode } from "../cli/errors/error-table.js";

const INTRODUCTION = `# Errors

Every error of this library that you can meet is exported and has a \`name\` and a stable \`code\`. You meet it in one of four places: a function throws it or rejects with it, the report of \`onOutcome\` or \`onJob\` has it as \`error\`, the log has it as \`err\`, or it is the reason of \`context.signal\`. An outcome in the last column is the outcome of the report.

\`npx identity-gateway-webhooks explain <code>\` prints the section of a code. This page is generated from the same table.`;

const KIT =
  "The errors of `/testing` (`CaptureError`, `ConformanceFailure`, `ContractError`, `FixtureError`, `SendError`) have codes too. Their messages say what to do.";

/** The text of docs/errors.md, generated from the table of errors. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_CAUSES).map(([error, { exportedBy, codes, where }]) =>
    row([
      `\`${error}\``,
      exportedBy.map((entry) => (entry.startsWith("…") ? `\`${entry}\`` : entry)).join(", "),
      Object.keys(codes)
        .map((code) => `\`${code}\``)
        .join(", "),
      where,
    ]),
  );
  const table = [row(["error", "exported by", "code", "where and why"]), row(RULES), ...rows];
  return `${[INTRODUCTION, table.join("\n"), KIT, ...ERROR_CODES.map(sectionOf)].join("\n\n")}\n`;
}

const RULES = ["---", "---", "---", "---"];

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function sectionOf({ code, error, meaning, causes, command }: ErrorCode): string {
  return [
    `## ${code}`,
    `${meaning} A code of \`${error}\`.`,
    "Usual causes:",
    causes.map((cause) => `- ${cause}`).join("\n"),
    ...(command === undefined ? [] : ["To find out more:", `\`\`\`sh\n${command}\n\`\`\``]),
  ].join("\n\n");
}
