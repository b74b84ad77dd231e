import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "./installed-package.js";
import { readMarkdown } from "./markdown.js";

/** The documents that users read, by their paths in the repository. */
export const DOCUMENTS: readonly string[] = [
  ...readdirSync(REPOSITORY).filter((file) => file.endsWith(".md")),
  "examples/README.md",
  "fixtures/README.md",
  "bench/README.md",
  "test/alerts/results.md",
  ...["docs", "docs/stores"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder))
      .filter((file) => file.endsWith(".md"))
      .map((file) => `${folder}/${file}`),
  ),
];

/** The documents about tests. */
export const TESTING_DOCUMENTS: readonly string[] = [
  "test-handlers",
  "test-endpoint",
  "listen",
  "command-line",
  "answers",
].map((name) => `docs/${name}.md`);

/** The relative links of a document whose file or anchor is missing below `root`. */
export function brokenLinks(root: string, file: string): readonly string[] {
  const { text } = readMarkdown(file, root);
  // What a comment shows to the site alone is not in the package. The site is not built without it.
  const shown = text.replaceAll(/<!-- site: .* -->/g, "");
  const links = Array.from(shown.matchAll(/\]\(([^)\s]+)\)/g), ([, to = ""]) => to);
  return links
    .filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [to = "", anchor] = link.split("#");
      const target = to === "" ? file : path.join(path.dirname(file), to);
      if (!existsSync(path.join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target, root).includes(anchor);
    })
    .map((link) => `${file}: ${link}`);
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(file: string, root: string): readonly string[] {
  const headings = readMarkdown(file, root).text.matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}
