import { outcomePages } from "../answers-page.js";
import { slugOf, splitAt, type Section } from "./markdown.js";

/** A page of the site that is made of a section of a document. Its links are those of the document. */
export interface PartPage {
  /** Its path in the site, without `.md`. */
  readonly to: string;
  readonly title: string;
  readonly text: string;
}

/** A document whose sections are pages of their own in the site. */
export interface SplitPage {
  /** What remains of the document: its introduction, with a link to each page. */
  readonly text: string;
  readonly pages: readonly PartPage[];
}

const code = (text: string): string => `\`${text}\``;

/** One page for each outcome, made of the tables that docs/answers.md is made of. The causes stand there alone. */
function splitAnswers(text: string): SplitPage {
  return {
    text: text.replace(/^## Usual causes\n.*/ms, ""),
    pages: outcomePages().map(({ outcome, text: own }) => ({
      to: `answers/${outcome}`,
      title: outcome,
      text: framed(outcome, own, [
        "[What the gateway is answered](answers.md)",
        "[How long it tries](answers.md#how-long-the-gateway-tries)",
        "[Monitoring](monitoring.md)",
      ]),
    })),
  };
}

/** One page for each error code of docs/errors.md. */
function splitErrors(text: string): SplitPage {
  const { before, sections } = splitAt(text, 2);
  const written = new Map(sections.map(({ title, text: own }) => [title.replaceAll("`", ""), own]));
  const pages = rowsOf(before).flatMap(({ error, entries, codes, where }) =>
    codes.map((name) => {
      const facts = [
        `| error | ${code(error)} |`,
        "| --- | --- |",
        `| comes from | ${entries} |`,
        `| where and why | ${where} |`,
      ];
      const own = [written.get(name) ?? "", facts.join("\n")];
      const next = ["[All errors](errors.md)", "[Handlers](handlers.md)", "[Logging](logging.md)"];
      return {
        to: `errors/${name}`,
        title: name,
        text: framed(name, own.join("\n\n").trim(), next),
      };
    }),
  );
  const known = new Set(pages.map(({ title }) => title));
  const linked = before.replaceAll(/^\|.*\|$/gm, (row) =>
    row.replaceAll(/`([a-z_]+)`/g, (whole, name: string) =>
      known.has(name) ? `[${whole}](#${name})` : whole,
    ),
  );
  return { text: linked, pages };
}

/** One quick start for each framework and host of docs/frameworks.md. */
function splitFrameworks(text: string): SplitPage {
  const { before, sections: groups } = splitAt(text, 2);
  const [receiver] = /^```js\n\/\/ receiver\.mjs\n.*?^```/ms.exec(before) ?? [];
  if (receiver === undefined) throw new Error("docs/frameworks.md does not show receiver.mjs");
  const parts = groups.map((group) => {
    const { before: introduction, sections } = splitAt(group.text, 3);
    const links = sections.map(({ title, slug }) => `- [${title}](#${slug})`);
    const kept = [`## ${group.title}`, introduction, links.join("\n")];
    return { kept: kept.filter((part) => part !== "").join("\n\n"), sections };
  });
  return {
    text: [before, ...parts.map(({ kept }) => kept)].join("\n\n"),
    pages: parts.flatMap(({ sections }) =>
      sections.map((section) => frameworkPage(section, receiver)),
    ),
  };
}

/** What the commands of docs/frameworks.md set, too. */
const TEST_SECRET = "GATEWAY_WEBHOOK_SECRET=whsec_test_0123456789abcdef";

/** `receiver`: its file, as the introduction of the document shows it. */
function frameworkPage({ title, slug, text }: Section, receiver: string): PartPage {
  const imported = text.matchAll(/^import .* from "([^"]+)";$/gm);
  const packages = Array.from(imported, ([, name = ""]) => name)
    .filter((name) => !/^(?:\.|node:|cloudflare:)/.test(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
  const install = ["identity-gateway-webhooks", ...new Set(packages)].filter(
    (name, at, all) => all.indexOf(name) === at,
  );
  const [url = ""] = /http:\/\/(?:127\.0\.0\.1|localhost):[^`]+/.exec(text) ?? [];
  const body = [
    "1. Install:",
    `\`\`\`sh\nnpm init -y && npm pkg set type=module # only in an empty folder\nnpm install ${install.join(" ")}\n\`\`\``,
    "2. Write the receiver in the root of the project. It is the same for every platform:",
    receiver,
    "3. Mount it, and start it:",
    text,
    "4. Send it a signed alarm from a second shell:",
    `\`\`\`sh\nexport ${TEST_SECRET}\nnpx identity-gateway-webhooks send ${url}\n\`\`\``,
    "The table at the end of its output says `200` and `handled`, and the receiver prints the alarm. `doctor` in place of `send` tests the whole endpoint.",
  ];
  const next = [
    "[All frameworks and hosts](frameworks.md)",
    "[Write the handlers](handlers.md)",
    "[Choose a store](stores.md)",
    "[Go live](going-live.md)",
  ];
  return { to: `frameworks/${slug}`, title, text: framed(title, body.join("\n\n"), next) };
}

/** A page with its heading, and what to read next. */
function framed(title: string, text: string, next: readonly string[]): string {
  const links = next.map((one) => `- ${one}`).join("\n");
  return [`# ${title}`, text, "## See also", `${links}\n`].join("\n\n");
}

interface ErrorRow {
  readonly error: string;
  readonly entries: string;
  readonly codes: readonly string[];
  readonly where: string;
}

/** The rows of the table of errors. */
function rowsOf(text: string): readonly ErrorRow[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((line) => {
    const cells = line.slice(1, -1).split("|");
    const [error = "", entries = "", codes = "", where = ""] = cells.map((cell) => cell.trim());
    return {
      error: error.replaceAll("`", ""),
      entries,
      codes: Array.from(codes.matchAll(/`([^`]+)`/g), ([, name = ""]) => name),
      where,
    };
  });
}

/** What splits a document, by its path in the repository. */
export const SPLITS: Readonly<Record<string, (text: string) => SplitPage>> = {
  "docs/answers.md": splitAnswers,
  "docs/errors.md": splitErrors,
  "docs/frameworks.md": splitFrameworks,
};

/** The page to which a link to an anchor of a split document leads. Undefined: to the document. */
export function pageOfAnchor(pages: readonly PartPage[], anchor: string): string | undefined {
  return pages.find(({ title }) => slugOf(title) === anchor)?.to;
}
