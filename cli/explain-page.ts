import { OUTCOMES, type WebhookOutcome } from "../src/answer/outcome.js";
import { PAGES, pageUrl } from "../src/common/pages.js";
import { OUTCOME_CAUSES } from "../src/answer/outcome-causes.js";
import { hanging, labelled, textWidth } from "./terminal/wrap.js";
import type { Output } from "./terminal/command-io.js";
import { documentFile, readPackaged, withoutLinks } from "./documents.js";

/** Where the file comes from that a page's command reads. */
export const REQUEST_FILE =
  "request.txt is one refused request with its headers and raw body: from ngrok, a proxy's log, a HAR, or a line of your own log. Without one, lead the deliveries through `identity-gateway-webhooks listen --port 4000 --forward <url of your app>`: it prints the cause of each refusal.";

/** What the documents say about an outcome or an error code. */
export interface ExplainPage {
  readonly kind: "outcome" | "error";
  readonly name: string;
  /** What it means, as sentences. */
  readonly meaning: string;
  /** Of an error: where a user meets it. */
  readonly where?: string;
  /** The usual causes and what to do about each. */
  readonly causes: readonly string[];
  /** The command that finds out more. */
  readonly command?: string;
  /** The page of the documents. Without a `homepage` of the package there is none. */
  readonly url?: string;
}

/** The names that `explain` knows besides files. */
export function explainedNames(): readonly string[] {
  const errors = readErrorCodes().flatMap(({ code, error }) => [code, error]);
  return [...Object.keys(OUTCOMES), ...new Set(errors), ...Object.keys(PAGES)];
}

/**
 * The pages of an outcome, an error code or an error class, in any letter case: an answer has its outcome in
 * capitals. Empty for another name.
 */
export function pagesOf(given: string): readonly ExplainPage[] {
  const name = given.toLowerCase();
  const outcomes = (Object.keys(OUTCOMES) as WebhookOutcome[]).filter(
    (outcome) => outcome === name,
  );
  const errors = readErrorCodes().filter(
    ({ code, error }) => code === name || error.toLowerCase() === name,
  );
  return [...outcomes.map(pageOfOutcome), ...errors.map(pageOfError)];
}

/** The outcomes that answer one status. */
export interface StatusPage {
  readonly status: number;
  readonly outcomes: readonly {
    readonly name: string;
    /** What it means, and when it answers this status. */
    readonly meaning: string;
  }[];
}

/** The outcomes that answer a status, such as "409". Undefined for another text and for a status that none answers. */
export function statusPageOf(given: string): StatusPage | undefined {
  const outcomes = (Object.keys(OUTCOMES) as WebhookOutcome[]).flatMap((name) => {
    const { status, rejectStatus, message } = OUTCOMES[name];
    if (String(status) === given) return [{ name, meaning: message }];
    if (String(rejectStatus) !== given) return [];
    return [{ name, meaning: `${message} With unverifiable: "reject" only.` }];
  });
  return outcomes.length === 0 ? undefined : { status: Number(given), outcomes };
}

/** The only loss without a trace. */
const NOT_OURS =
  "A 2xx without an outcome, or one that is in no log of yours, is not the receiver's: a proxy, a firewall or a login page in front gave it, and the delivery is lost. `webhooks reconcile --completed` finds what was lost so.";

/** Shows the outcomes of a status. */
export function describeStatus(output: Output, { status, outcomes }: StatusPage): void {
  const { style } = output;
  const nameWidth = Math.max(...outcomes.map(({ name }) => name.length)) + 2;
  const width = Math.max(textWidth(output), nameWidth + 22);
  const lines = [
    `A receiver of this library answers ${style("bold", String(status))} to:`,
    ...outcomes.flatMap(({ name, meaning }) =>
      labelled(output, ["  ", name.padEnd(nameWidth), "bold"], meaning, width),
    ),
    "",
    ...(status === 200 ? hanging("", NOT_OURS, width) : []),
    "The answer and the log name the outcome. To find out more:",
    `  ${style("cyan", "explain <outcome>")}`,
  ];
  output.write(`${lines.join("\n")}\n`);
}

function pageOfOutcome(outcome: WebhookOutcome): ExplainPage {
  const { status, rejectStatus, message } = OUTCOMES[outcome];
  const rejected =
    rejectStatus === undefined ? "" : `, or ${rejectStatus} with unverifiable: "reject"`;
  return {
    kind: "outcome",
    name: outcome,
    meaning: `${message} Answered ${status}${rejected}.`,
    ...OUTCOME_CAUSES[outcome],
    ...urlOf(`answers/${outcome}`),
  };
}

function pageOfError({ code, error, entries, meaning, ...rest }: ErrorCode): ExplainPage {
  const from = entries.replaceAll("…", "identity-gateway-webhooks");
  return {
    ...rest,
    kind: "error",
    name: code,
    meaning: `${meaning} A code of ${error}, from ${from}.`,
    ...urlOf(`errors/${code}`),
  };
}

function urlOf(page: string): Pick<ExplainPage, "url"> {
  const url = pageUrl(page);
  return url === undefined ? {} : { url };
}

/** Shows pages, one after another. */
export function describePages(output: Output, pages: readonly ExplainPage[]): void {
  output.write(`${pages.map((page) => linesOf(output, page).join("\n")).join("\n\n")}\n`);
}

function linesOf(output: Output, page: ExplainPage): readonly string[] {
  const { style } = output;
  const { kind, name, meaning, where, causes, command, url } = page;
  const width = textWidth(output) - 2;
  const isError = kind === "error";
  return [
    `${style("bold", name)} ${style("dim", isError ? "(error code)" : "(outcome)")}`,
    ...hanging("  ", meaning, width),
    ...(where === undefined ? [] : hanging("  ", `Where: ${where}.`, width)),
    ...(causes.length === 0 ? [] : ["", "  Usual causes:"]),
    ...causes.flatMap((cause) => hanging("  - ", cause, width)),
    ...(command === undefined ? [] : ["", "  To find out more:", `  ${style("cyan", command)}`]),
    ...(command?.includes("request.txt") === true ? hanging("  ", REQUEST_FILE, width) : []),
    ...(url === undefined ? [] : ["", `  ${style("dim", url)}`]),
  ];
}

/** An error code and what `docs/errors.md`, which the package holds, says of it. */
interface ErrorCode {
  readonly code: string;
  /** The name of the class. */
  readonly error: string;
  /** The entries of the package that it comes from: `the package` or subpaths. */
  readonly entries: string;
  /** Where a user meets it, and why. */
  readonly where: string;
  /** What the code says, as one sentence. */
  readonly meaning: string;
  /** The usual causes and what to do about each, most frequent first. */
  readonly causes: readonly string[];
  /** The command that finds out more. */
  readonly command?: string;
}

/** Every error code, in the order of the document's table. */
export function readErrorCodes(page = readPackaged(documentFile("errors"))): readonly ErrorCode[] {
  const [head = "", ...sections] = withoutLinks(page).split(/^## /m);
  const rows = head.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) => {
    const cells = row.slice(2, -2).replaceAll("`", "").split(" | ");
    const [error = "", entries = "", codes = "", where = ""] = cells;
    return codes.split(", ").map((code) => {
      const lines = sections.find((section) => section.startsWith(`${code}\n`))?.split("\n") ?? [];
      const isCause = (line: string): boolean => line.startsWith("- ");
      const command = lines[lines.indexOf("```sh") + 1];
      return {
        code,
        error,
        entries,
        where,
        meaning: lines[2] ?? "",
        causes: lines.filter(isCause).map((line) => line.slice("- ".length)),
        ...(lines.includes("```sh") && command !== undefined ? { command } : {}),
      };
    });
  });
}
