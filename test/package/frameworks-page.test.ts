import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readMarkdown } from "../support/package/markdown.js";
import { pathIn } from "../platforms/install.js";
import { allPlatforms } from "../platforms/selection.js";

const PAGE = readMarkdown("docs/frameworks.md");
const PLATFORMS = await allPlatforms();
/** Adapters that need no framework's type. The others have pages of their own. */
const GENERAL = /identity-gateway-webhooks\/(?:fetch|node|express|hono)"/;

/** Platforms with a page of their own, docs/cloudflare.md. */
const OWN_PAGES = new Set(["cloudflare"]);

const codeOf = ({ folder, app }: (typeof PLATFORMS)[number]): string =>
  readFileSync(pathIn(folder, app), "utf8");

test("every snippet of docs/frameworks.md is a file that npm run platforms starts", () => {
  const apps = new Set(PLATFORMS.map(codeOf));
  const snippets = PAGE.snippets("js");
  expect(snippets.length).toBeGreaterThanOrEqual(20);
  expect(snippets.filter((code) => !apps.has(code))).toEqual([]);
  expect(PAGE.text.match(/^```\w+$/gm)?.length).toBe(snippets.length);
});

test("docs/frameworks.md shows the file of every platform without an adapter of its own", () => {
  const shown = new Set(PAGE.snippets("js"));
  const missing = PLATFORMS.filter((platform) => {
    const code = codeOf(platform);
    return GENERAL.test(code) && !shown.has(code) && !OWN_PAGES.has(platform.folder);
  });
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test("docs/frameworks.md has each answer that a platform gives itself", () => {
  const answers = PAGE.table("platform | answers itself | to");
  /** `first`: the status, or the verb of what it does instead. */
  const isNamed = (name: string, first: string): boolean =>
    answers.some(([platform = "", given = ""]) => name.includes(platform) && given.includes(first));
  const missing = PLATFORMS.flatMap(({ name, ownAnswers = {} }) =>
    Object.values(ownAnswers)
      .filter((why) => !isNamed(name, why.split(" ")[0] ?? ""))
      .map((why) => `${name}: ${why}`),
  );
  expect(missing).toEqual([]);
});
