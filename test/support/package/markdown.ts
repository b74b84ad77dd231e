import { readFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "./installed-package.js";

/** A document of the repository. */
type MarkdownDocument = ReturnType<typeof parseMarkdown>;

/** Reads a document by its path in the repository, or in another folder. */
export function readMarkdown(file: string, root: string = REPOSITORY): MarkdownDocument {
  return parseMarkdown(readFileSync(path.join(root, file), "utf8"));
}

/** A section of a document: from its heading to the next of the same level. */
export function sectionOf({ text }: MarkdownDocument, heading: string): MarkdownDocument {
  const start = text.indexOf(`\n${heading}\n`);
  if (start === -1) throw new Error(`there is no section ${heading}`);
  const [level = ""] = heading.split(" ");
  const rest = text.slice(start + 1 + heading.length);
  const end = rest.search(new RegExp(`^${level} `, "m"));
  return parseMarkdown(heading + (end === -1 ? rest : rest.slice(0, end)));
}

function parseMarkdown(text: string) {
  const snippets = (language: string): readonly string[] => {
    const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"));
    return Array.from(blocks, ([, code = ""]) => code);
  };
  return {
    text,
    /** The code blocks of one language, in their order. */
    snippets,
    /** The one code block of a language that holds `marker`. Throws where there is none, or another. */
    snippet(language: string, marker: string) {
      const found = snippets(language).filter((code) => code.includes(marker));
      const [only] = found;
      if (only !== undefined && found.length === 1) return only;
      throw new Error(`${String(found.length)} ${language} snippets have ${marker}`);
    },
    /** The rows of the table whose first header cell is `title`, as cells without back-ticks. */
    table(title: string): readonly string[][] {
      const lines = text.split("\n");
      const start = lines.findIndex((line) => line.startsWith(`| ${title} |`));
      if (start === -1) throw new Error(`there is no table of ${title}`);
      const rows = lines.slice(start + 2);
      const end = rows.findIndex((line) => !line.startsWith("|"));
      return rows.slice(0, end === -1 ? undefined : end).map(cellsOf);
    },
  };
}

function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim().replaceAll("`", ""));
}
