import http from "node:http";
import { expect, test, vi } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { readErrorCodes } from "../../cli/explain-page.js";
import { slugOf } from "../../docs/site/markdown.js";
import { sitePages } from "../../docs/site/navigation.js";
import { pageOfAnchor, SPLITS } from "../../docs/site/split-pages.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { PAGES } from "../../src/common/pages.js";
import { createWebhookReceiver } from "../../src/index.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { runCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { serving } from "../support/serving.js";
import { textReceiver } from "../support/text-receiver.js";
import { readMarkdown } from "../support/package/markdown.js";

const HOMEPAGE = "https://docs.example.com/identity-gateway-webhooks/";
const COMMAND = "npx identity-gateway-webhooks explain";

/** What the build writes for `homepage` of package.json: an empty text if there is none. */
function build(homepage: string): void {
  vi.stubGlobal("HOMEPAGE", homepage);
}

/** Every message that names a page, by the name of the page. */
const MESSAGES: Readonly<Record<string, () => Promise<string>>> = {
  stores: () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "x");
    const lines: string[] = [];
    const logger = { warn: (line: string) => lines.push(line), error: () => undefined };
    const handlers = { new_alarm: () => undefined };
    createWebhookReceiver({ secret: TEST_SECRET, logger, handlers });
    return Promise.resolve(lines.join("\n"));
  },
  "clean-up": async () => {
    const { url } = await receivingEndpoint();
    return (await runCommand(`doctor ${url} --only alarm`)).stdout;
  },
  "odd-text": async () => {
    const receiver = textReceiver((text) => {
      if (text.includes("\0")) throw new Error("invalid byte sequence");
    });
    const url = await serving(http.createServer(nodeHandler(receiver)));
    const { stdout } = await runCommand(`doctor ${url} --only odd_values`);
    return stdout.split("left behind")[0] ?? "";
  },
  "made-up": async () => {
    const body = '{"error":{"code":"HANDLER_FAILED"}}';
    const { url } = await answeringEndpoint({ status: 500, body });
    return (await runCommand(`replay fixtures/alarm-email-hacked.json --to ${url}`)).stdout;
  },
};

/** The pages of the site that a text names. */
function urlsIn(text: string): readonly string[] {
  return text.match(/https:\/\/docs\.example\.com[^\s"]*/g) ?? [];
}

/** Whether the site has the page of a URL, and the page the section. */
function isOnSite(url: string): boolean {
  const [to = "", anchor] = url.slice(HOMEPAGE.length).split("#");
  const name = to.replace(/\.html$/, "");
  const page = [...sitePages()].find(([, one]) => one.to === name);
  const parts = Object.entries(SPLITS).map(([file, split]) => ({
    file,
    pages: split(readMarkdown(file).text).pages,
  }));
  if (page === undefined) return parts.some(({ pages }) => pages.some((one) => one.to === name));
  if (anchor === undefined) return true;
  const [file] = page;
  const own = parts.find((one) => one.file === file)?.pages ?? [];
  const headings = Array.from(readMarkdown(file).text.matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
    slugOf(title),
  );
  return headings.includes(anchor) && pageOfAnchor(own, anchor) === undefined;
}

test("there is a message for each page that a message can name", () => {
  expect(Object.keys(MESSAGES).toSorted()).toEqual(Object.keys(PAGES).toSorted());
});

test.each(Object.entries(MESSAGES))(
  "with a homepage the message about %s gives the URL of its page on the site",
  async (name, message) => {
    build(HOMEPAGE);
    const text = await message();
    const [url = "", ...others] = urlsIn(text);
    expect(others).toEqual([]);
    expect(isOnSite(url), url).toBe(true);
    expect(text).toMatch(new RegExp(`${url}$`, "m"));
    expect(text).not.toMatch(/\.md\b|npx identity-gateway-webhooks explain/);
  },
);

test.each(Object.entries(MESSAGES))(
  "without a homepage the message about %s gives the command that prints the section",
  async (name, message) => {
    build("");
    const text = await message();
    expect(text).toMatch(new RegExp(`${COMMAND} ${name}$`, "m"));
    expect(text).not.toMatch(/\.md\b|https:/);
    const { code, stdout } = await runCommand(`explain ${name}`);
    expect(code).toBe(0);
    expect(stdout.length).toBeGreaterThan(400);
    // Neither a link to a file, nor code that the next heading cut off, nor a table without its titles.
    expect(stdout).not.toMatch(/\.md\b|^\||undefined:/m);
    expect((stdout.match(/^```/gm) ?? []).length % 2).toBe(0);
    const json = await runCommand(`explain ${name} --json`);
    const page = JSON.parse(json.stdout) as { name: string; text: string };
    expect(page.name).toBe(name);
    expect(stdout).toContain(page.text.slice(0, page.text.indexOf("\n")));
  },
);

test("explain ends with the page of an outcome or an error code if the package has a homepage", async () => {
  build(HOMEPAGE);
  for (const name of [...Object.keys(OUTCOMES), ...readErrorCodes().map(({ code }) => code)]) {
    const { stdout } = await runCommand(`explain ${name}`);
    const urls = urlsIn(stdout);
    expect(urls.length, name).toBeGreaterThan(0);
    expect(stdout.trimEnd().endsWith(urls.at(-1) ?? ""), name).toBe(true);
    expect(urls.filter((url) => !isOnSite(url))).toEqual([]);
    expect(stdout).not.toMatch(/\.md\b/);
  }
  const { stdout } = await runCommand("explain overloaded --json");
  expect(urlsIn(stdout)).toEqual([`${HOMEPAGE}answers/overloaded.html`]);
  build("");
  const { stdout: without } = await runCommand("explain overloaded");
  expect(without).not.toMatch(/\.md\b|https:|node_modules/);
});
