import { readFileSync } from "node:fs";
import { PAGES, type PageName } from "../src/common/pages.js";
import { hanging, textWidth } from "./terminal/wrap.js";
import type { Output } from "./terminal/command-io.js";

/** The file of a page, in the package and in the repository. */
export function documentFile(page: string): string {
  return `docs/${page}.md`;
}

/** What a coding agent reads first in a project, and the line about this package in it. */
export const AGENTS = {
  file: "AGENTS.md",
  line: "- Webhooks of the Identity Protection Gateway: read node_modules/identity-gateway-webhooks/AGENTS.md before you write or change the receiver.",
} as const;

/** A file of this package. */
export function readPackaged(file: string): string {
  // The sources and the build are each one folder below the package.
  return readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
}

/** Whether messages name a page by this name. */
export function isPageName(name: string): name is PageName {
  return Object.hasOwn(PAGES, name);
}

/** The Markdown of what a message names: from its heading to the next one. */
export function readPage(name: PageName): string {
  const [page = "", section] = PAGES[name].split("#");
  const [, introduction, ...sections] = readPackaged(documentFile(page)).split(/^#+ /m);
  const text =
    section === undefined
      ? introduction
      : sections.find((one) => slugOf(one.slice(0, one.indexOf("\n"))) === section);
  return withoutLinks((text ?? "").trim());
}

/** Markdown with the titles of its links: their targets are files. */
export function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
}

function slugOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

/** Shows the Markdown of a section: prose in lines, each row of a table as a list, code as it stands. */
export function describePage(output: Output, markdown: string): void {
  const { write, style } = output;
  const [title = "", ...lines] = markdown.split("\n");
  const width = textWidth(output);
  let isCode = false;
  let columns: readonly string[] = [];
  const shown = lines.flatMap((line) => {
    const isFence = line.startsWith("```");
    if (isFence) isCode = !isCode;
    if (isFence || isCode) return [line];
    if (!line.startsWith("| ")) {
      columns = [];
      return hanging("", line, width);
    }
    const cells = line
      .slice(1, -1)
      .split(" |")
      .map((cell) => cell.trim());
    if (columns.length === 0) {
      columns = cells;
      return [];
    }
    if (cells.every((cell) => /^:?-+:?$/.test(cell))) return [];
    return cells.flatMap((cell, at) =>
      at === 0 ? hanging("- ", cell, width) : hanging("  ", `${columns[at] ?? ""}: ${cell}`, width),
    );
  });
  write(`${[style("bold", title), ...shown].join("\n")}\n`);
}
