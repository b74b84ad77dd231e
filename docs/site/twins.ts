import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FILE_MARK, type StagedPage } from "./stage.js";

/**
 * Writes the Markdown of each page beside it (`/answers.html` has the twin `/answers.md`), `llms.txt` with a link
 * to each (https://llmstxt.org), and `llms-full.txt` with all of them.
 */
export function writeTwins(
  folder: string,
  parts: readonly { readonly title: string; readonly pages: readonly StagedPage[] }[],
): void {
  const pages = parts.flatMap((part) => part.pages);
  for (const { to, text } of pages) {
    const file = path.join(folder, `${to}.md`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, plain(text));
  }
  const lists = parts.map(({ title, pages: own }) =>
    [`## ${title}`, own.map((page) => `- [${page.title}](${page.to}.md)`).join("\n")].join("\n\n"),
  );
  writeFileSync(path.join(folder, "llms.txt"), `${[INTRODUCTION, ...lists].join("\n\n")}\n`);
  const all = pages.map(({ to, text }) => `<!-- ${to}.md -->\n\n${plain(text).trim()}`);
  writeFileSync(path.join(folder, "llms-full.txt"), `${[INTRODUCTION, ...all].join("\n\n")}\n`);
}

const INTRODUCTION = `# identity-gateway-webhooks

> A TypeScript library that receives the webhooks of the Identity Protection Gateway: each delivery is handled once, or the gateway sends it again. Nothing else gets in.`;

/** Markdown without what only the site understands. */
function plain(text: string): string {
  return text.replaceAll(FILE_MARK, "").replace(/^---\n.*?\n---\n+/s, "");
}
