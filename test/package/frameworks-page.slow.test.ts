import { expect, test } from "vitest";
import { splitAt } from "../../docs/site/markdown.js";
import { SPLITS } from "../../docs/site/split-pages.js";
import { TEST_SECRET } from "../../kit/index.js";
import { readMarkdown } from "../support/package/markdown.js";
import { PLATFORMS } from "../platforms/rows.js";

const PAGE = readMarkdown("docs/frameworks.md");
/** One section for each framework and host. */
const SECTIONS = splitAt(PAGE.text, 2).sections.flatMap(({ text }) => splitAt(text, 3).sections);
/** Adapters that need no framework's type. The others have pages of their own. */
const GENERAL = /identity-gateway-webhooks\/(?:fetch|node|express|hono)"/;

/** Platforms with a page of their own, docs/cloudflare.md. */
const OWN_PAGES = new Set(["cloudflare"]);

test("every snippet of docs/frameworks.md is a file that npm run platforms starts", () => {
  const apps = new Set(PLATFORMS.map(({ code }) => code));
  const [receiver = "", ...snippets] = PAGE.snippets("js");
  expect(receiver).toMatch(/^\/\/ receiver\.mjs\n/);
  expect(snippets.length).toBeGreaterThanOrEqual(20);
  expect(snippets.filter((code) => !apps.has(code))).toEqual([]);
  const languages = new Set(PAGE.text.match(/^```\w+$/gm));
  expect([...languages].sort()).toEqual(["```js", "```jsonc", "```sh", "```ts"]);
});

test("each section of docs/frameworks.md sets the test secret, starts its file and names its URL", () => {
  const incomplete = SECTIONS.filter(({ text }) => {
    const [command = ""] = /^```sh\n.*?^```/ms.exec(text) ?? [];
    const setsSecret = text.includes(`GATEWAY_WEBHOOK_SECRET=${TEST_SECRET}`);
    const url = /^URL: `http:\/\/(?:127\.0\.0\.1|localhost):\d+\/[\w/]+`/m;
    return command === "" || !setsSecret || !url.test(text);
  });
  expect(incomplete.map(({ title }) => title)).toEqual([]);
  expect(SECTIONS.length).toBeGreaterThanOrEqual(20);
});

test("each section of docs/frameworks.md has a page that can be followed alone", () => {
  const pages = SPLITS["docs/frameworks.md"]?.(PAGE.text).pages ?? [];
  expect(pages.map(({ title }) => title)).toEqual(SECTIONS.map(({ title }) => title));
  for (const { title, text } of pages) {
    expect(text, title).toContain("npm install identity-gateway-webhooks");
    expect(text, title).toContain("// receiver.mjs");
    const [, sent = ""] = /identity-gateway-webhooks send (\S+)$/m.exec(text) ?? [];
    expect(text, title).toContain(`URL: \`${sent}\``);
  }
});

test("docs/frameworks.md shows the file of every platform without an adapter of its own", () => {
  const shown = new Set(PAGE.snippets("js"));
  const missing = PLATFORMS.filter(
    ({ code, folder }) => GENERAL.test(code) && !shown.has(code) && !OWN_PAGES.has(folder),
  );
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test("docs/frameworks.md has each answer that a platform gives itself", () => {
  const answers = PAGE.table("platform | answers itself | to");
  /** `first`: the status, or the verb of what it does instead. */
  const isNamed = (name: string, first: string): boolean =>
    answers.some(([platform = "", given = ""]) => name.includes(platform) && given.includes(first));
  const missing = PLATFORMS.flatMap(({ name, ownAnswers = {} }) =>
    Object.values(ownAnswers)
      // "as `big_alarm`": the answer is that of another case.
      .filter((why) => !why.startsWith("as `") && !isNamed(name, why.split(" ")[0] ?? ""))
      .map((why) => `${name}: ${why}`),
  );
  expect(missing).toEqual([]);
});
