import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRIES } from "../../release/entries.js";

/** Path of the checkout. */
export const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** A document of the repository that is a page of the site. */
interface Page {
  /** Its path in the repository. */
  readonly file: string;
  /** Its path in the site, without `.md`. */
  readonly to: string;
  /** For a document without a heading. */
  readonly title?: string;
}

/** A part of the sidebar. */
interface Part {
  readonly title: string;
  readonly pages: readonly Page[];
}

const docs = (...names: readonly string[]): Page[] =>
  names.map((name) => ({ file: `docs/${name}.md`, to: name }));

const STORES = ENTRIES.flatMap(({ plugs = [] }) => plugs)
  .filter(({ page }) => /^docs\/stores\/[^#]+$/.test(page))
  .map(({ page }) => page.replace(/^docs\/|\.md$/g, ""));

const PARTS: readonly Part[] = [
  {
    title: "Start",
    pages: [
      ...docs("going-live", "migrating"),
      { file: "examples/README.md", to: "examples" },
      ...docs("faq"),
    ],
  },
  {
    title: "Frameworks and hosts",
    pages: docs("frameworks", "nestjs", "aws-lambda", "cloudflare", "deployment"),
  },
  {
    title: "Use",
    pages: docs("handlers", "options", "rotation", "management", "after-an-outage", "logging"),
  },
  {
    title: "Stores and queues",
    pages: [...docs("stores", ...STORES), ...docs("inbox")],
  },
  {
    title: "Understand",
    pages: docs("guarantees", "answers", "errors", "privacy"),
  },
  {
    title: "Test and watch",
    pages: [
      ...docs("test-handlers", "test-endpoint", "listen", "command-line"),
      { file: "fixtures/README.md", to: "fixtures" },
      ...docs("monitoring"),
    ],
  },
  {
    title: "Proof",
    pages: [
      ...docs("proof"),
      { file: "test/faults/results.md", to: "proof/faults" },
      { file: "test/platforms/results.md", to: "proof/platforms" },
      { file: "test/alerts/results.md", to: "proof/alerts" },
      ...docs("performance"),
      { file: "bench/README.md", to: "benchmark" },
      { file: "bench/results/table.md", to: "benchmark/table", title: "Ratios" },
      { file: "bench/results/stores.md", to: "benchmark/stores", title: "Durable stores" },
      { file: "bench/results/details.md", to: "benchmark/details", title: "All figures" },
      { file: "bench/results/telemetry.md", to: "benchmark/telemetry" },
    ],
  },
  {
    title: "Project",
    pages: [
      { file: "AGENTS.md", to: "agents" },
      { file: "SECURITY.md", to: "security" },
      { file: "STABILITY.md", to: "stability" },
      { file: "CHANGELOG.md", to: "changelog" },
      { file: "CONTRIBUTING.md", to: "contributing" },
    ],
  },
];

/** The parts of the sidebar with the documents that exist. A new page of `docs/` stands in "More". */
export function navigation(): readonly Part[] {
  const parts = PARTS.map(({ title, pages }) => ({
    title,
    pages: pages.filter(({ file }) => existsSync(path.join(REPOSITORY, file))),
  }));
  const listed = new Set(parts.flatMap(({ pages }) => pages.map(({ file }) => file)));
  const others = readdirSync(path.join(REPOSITORY, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "index.md")
    .map((name) => name.slice(0, -".md".length))
    .filter((name) => !listed.has(`docs/${name}.md`));
  return others.length === 0 ? parts : [...parts, { title: "More", pages: docs(...others) }];
}

/** The pages of the site by the path of their document. */
export function sitePages(): ReadonlyMap<string, Page> {
  const pages = navigation().flatMap((part) => part.pages);
  return new Map([
    ["docs/index.md", { file: "docs/index.md", to: "index" }],
    // The first page takes the README's place.
    ["README.md", { file: "docs/index.md", to: "index" }],
    ...pages.map((page) => [page.file, page] as const),
  ]);
}
