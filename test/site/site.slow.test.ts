import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OUTCOME_CAUSES } from "../../src/answer/outcome-causes.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { describeService } from "../support/describe-service.js";
import { rowsOfRun } from "../support/extent.js";
import { readMarkdown } from "../support/package/markdown.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { serveSite, SITE } from "../support/site/built-site.js";
import { launchChromium, missingChromium, PATIENCE_MS } from "./chromium.js";

/** Runs `npm run docs:build`. Takes half a minute. */
async function buildSite(): Promise<void> {
  const tsx = import.meta.resolve("tsx");
  const script = path.join(REPOSITORY, "docs/site/build.ts");
  const env = { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" };
  await promisify(execFile)(process.execPath, ["--import", tsx, script], { cwd: REPOSITORY, env });
}

/** The HTML pages of the site, by their paths below its root. */
function builtPages(): readonly string[] {
  return readdirSync(SITE, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".html") && file !== "404.html")
    .sort();
}

/** A page's HTML. */
function readPage(page: string): string {
  return readFileSync(path.join(SITE, page), "utf8");
}

/** What users type, and the pages that answer it. */
const SEARCHES: readonly (readonly [query: string, ...pages: string[]])[] = [
  ["nextjs", "frameworks/next"],
  ["handlerTimeoutMs", "options", "handlers"],
  ["how do I test locally", "test-handlers", "test-endpoint", "listen"],
  ["IP allowlist", "going-live", "faq"],
  ["expressHandler", "frameworks/express", "api/express"],
  ["unregister webhook", "faq", "management"],
  ["rotate secret", "rotation"],
  ["kubernetes", "deployment"],
  ["retry schedule", "answers"],
  ["body parser", "frameworks", "answers/body_consumed"],
  ["wrong signature", "answers/signature_mismatch", "answers"],
  ["lambda timeout", "aws-lambda"],
  ["exactly once", "faq", "guarantees", "stores"],
  ["prometheus", "monitoring"],
  ["dead letter queue", "inbox"],
  ["personal data in logs", "privacy", "logging"],
  ["cloudflare d1", "cloudflare", "stores/d1"],
  ["graceful shutdown", "deployment"],
  ["clock skew", "answers/stale"],
  ["conformance", "test-endpoint"],
  ["prisma", "stores/orm"],
  ["typeorm", "stores/orm"],
  ["knex", "stores/orm"],
  ["sentry", "logging"],
  ["datadog", "logging"],
  ["gdpr", "privacy"],
  ["cdk", "stores/dynamodb", "aws-lambda"],
  ["terraform", "stores/dynamodb", "aws-lambda"],
  ["monorepo", "faq", "going-live"],
  ["nginx", "going-live"],
  ["caddy", "going-live"],
  ["trailing slash", "going-live"],
  ["cloud run 403", "going-live", "frameworks/google-cloud"],
  ["supabase", "going-live"],
  ["keepAliveTimeout", "going-live"],
  ["nestjs raw body", "nestjs"],
  ["duplicate webhook", "faq", "outcomes/duplicate"],
  ["dead letter", "inbox"],
  ["azure service bus", "inbox"],
  ["idempotency key", "handlers"],
  ["out of order events", "handlers", "faq"],
  ["upstash", "stores/redis"],
  ["pgbouncer", "stores/postgresql"],
  ["failover", "stores/postgresql", "stores/mysql", "guarantees"],
  ["delete account data", "privacy"],
  ["502", "going-live"],
  ["missed webhooks", "after-an-outage", "faq"],
  ["ngrok", "listen", "faq"],
];

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
/** Pages of the same kind differ in their text alone: of these only the width is looked at, without their scripts. */
const OF_A_KIND = /^(?:api|answers|errors|frameworks)\/(?!express|stale|missing_secret)/;
/** Looked at in each run: a page of each kind, and those with the widest tables and the most code. */
const OF_EACH_RUN =
  /^(?:index|handlers|options|answers|stores|proof|test-(?:handlers|endpoint)|api\/(?:index|express)|answers\/(?:handled|stale)|errors\/missing_secret|frameworks\/express)\.html$/;
const NAMES = Object.keys(OUTCOMES);

beforeAll(async () => {
  await buildSite();
});

/** The targets of links and pictures of a page. */
const targetsOf = (page: string): readonly string[] =>
  Array.from(readPage(page).matchAll(/<(?:a|img)[^>]* (?:href|src)="([^"]+)"/g), ([, to = ""]) =>
    to.replaceAll("&amp;", "&"),
  ).filter((to) => !/^(?:https?|mailto|data):/.test(to));

test("no link of the site leads to a missing page, file or anchor", () => {
  const ids = new Map<string, ReadonlySet<string>>();
  const idsOf = (page: string): ReadonlySet<string> => {
    const known = ids.get(page) ?? new Set(readPage(page).match(/(?<= id=")[^"]+/g));
    ids.set(page, known);
    return known;
  };
  const dead = builtPages().flatMap((page) =>
    targetsOf(page)
      .filter((to) => {
        const url = new URL(to, `http://site/${page}`);
        const file = decodeURIComponent(
          url.pathname.endsWith("/") ? `${url.pathname}index.html` : url.pathname,
        );
        if (!existsSync(path.join(SITE, file))) return true;
        const anchor = decodeURIComponent(url.hash.slice(1));
        return anchor !== "" && !idsOf(file.slice(1)).has(anchor);
      })
      .map((to) => `${page}: ${to}`),
  );
  expect(dead).toEqual([]);
});

test("each outcome has a page with its message, causes and command", () => {
  for (const name of NAMES) {
    const text = readFileSync(path.join(SITE, `answers/${name}.md`), "utf8");
    const { causes, command = "" } = OUTCOME_CAUSES[name as keyof typeof OUTCOME_CAUSES];
    expect(text).toContain(OUTCOMES[name as keyof typeof OUTCOMES].message);
    for (const cause of causes) expect(text).toContain(cause);
    expect(text).toContain(command);
  }
});

test("each error code of docs/errors.md has a page", () => {
  const codes = readMarkdown("docs/errors.md")
    .table("error")
    .flatMap(([, , own = ""]) => own.split(", "));
  expect(codes.length).toBeGreaterThan(40);
  expect(codes.filter((code) => !existsSync(path.join(SITE, `errors/${code}.html`)))).toEqual([]);
});

test("each page has a Markdown twin, and llms.txt links to it once", () => {
  const llms = readFileSync(path.join(SITE, "llms.txt"), "utf8");
  const pages = builtPages().filter((page) => page !== "api/index.html");
  expect(pages.length).toBeGreaterThan(100);
  const twins = pages.map((page) => page.replace(/html$/, "md"));
  expect(twins.filter((twin) => !existsSync(path.join(SITE, twin)))).toEqual([]);
  expect(twins.filter((twin) => llms.split(`(${twin})`).length !== 2)).toEqual([]);
});

test("each of the 26 questions is one click from the first page", () => {
  const questions = readMarkdown("docs/index.md").text.matchAll(/^\d+\. \[(.*)\]\(/gm);
  const first = readPage("index.html").replaceAll(/<[^>]+>/g, "");
  const asked = Array.from(questions, ([, question = ""]) => question.replaceAll("`", ""));
  expect(asked).toHaveLength(26);
  for (const question of asked) expect(first).toContain(question);
});

test("each entry of the package has an API page with an example", () => {
  const { exports } = JSON.parse(readMarkdown("package.json").text) as { exports: object };
  const entries = Object.entries(exports).filter(([, target]) => typeof target === "object");
  for (const [entry] of entries) {
    const name = entry === "." ? "identity-gateway-webhooks" : entry.slice(2);
    const text = readFileSync(path.join(SITE, `api/${name}.md`), "utf8");
    expect(text.split("\n").slice(0, 4).join("\n"), entry).toContain("```ts");
  }
});

describeService("the site in Chromium", missingChromium, () => {
  let browser: Browser;
  let page: Page;
  let site: Awaited<ReturnType<typeof serveSite>>;
  /** What is wrong with the pages. */
  let looked = 0;
  const wide: string[] = [];
  const errors: string[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    site = await serveSite();
    browser = await launchChromium();
    page = await browser.newPage({ viewport: DESKTOP, reducedMotion: "reduce" });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.message}`));
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    const plain = await browser.newPage({ viewport: PHONE, javaScriptEnabled: false });
    const files = rowsOfRun(builtPages(), (file) => OF_EACH_RUN.test(file));
    looked = files.length;
    for (const [at, file] of files.entries()) {
      if (!OF_A_KIND.test(file)) await visit(file, at % 2 === 0, axe);
      else {
        await plain.goto(site.url + file, { waitUntil: "load" });
        await expectToFit(plain, file, "a phone");
      }
    }
  }, 3_600_000);

  afterAll(async () => {
    await browser.close();
    await site.close();
  });

  /** Opens a page once for everything that is looked at. `isDark`: axe sees it dark and on a phone. */
  async function visit(file: string, isDark: boolean, axe: string): Promise<void> {
    await page.emulateMedia({ colorScheme: isDark ? "dark" : "light" });
    await page.setViewportSize(isDark ? DESKTOP : PHONE);
    await page.goto(site.url + file, { waitUntil: "load" });
    await expectToFit(page, file, isDark ? "a desktop" : "a phone");
    await page.setViewportSize(isDark ? PHONE : DESKTOP);
    await expectToFit(page, file, isDark ? "a phone" : "a desktop");
    await page.evaluate(axe);
    const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    for (const { id, impact, nodes } of found) {
      if (impact !== "serious" && impact !== "critical") continue;
      faults.push(`${file}: ${id}: ${nodes[0]?.html.slice(0, 120) ?? ""}`);
    }
  }

  async function expectToFit(shown: Page, file: string, where: string): Promise<void> {
    const by = await shown.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    if (by > 0) wide.push(`${file} on ${where}, by ${String(by)} px`);
  }

  test("no page scrolls sideways on a phone or a desktop", () => {
    expect(looked).toBeGreaterThan(12);
    expect(wide).toEqual([]);
  });

  test("no page writes an error to the console", () => {
    expect(errors).toEqual([]);
  });

  test("axe finds no serious fault on a page, in any colours and width", () => {
    expect(faults).toEqual([]);
  });

  test("the first result of a search for an outcome is its page", async () => {
    await page.setViewportSize(DESKTOP);
    await page.goto(site.url, { waitUntil: "load" });
    await page.click(".VPNavBarSearch button");
    for (const name of NAMES) {
      await page.fill("#localsearch-input", name);
      const first = page.locator(".results > li:first-child a");
      await expect
        .poll(() => first.getAttribute("href").catch(() => null))
        .toContain(`answers/${name}.html`);
    }
  });

  test("at least 44 of 48 searches find their page among the first three", async () => {
    await page.setViewportSize(DESKTOP);
    await page.goto(site.url, { waitUntil: "load" });
    await page.click(".VPNavBarSearch button");
    const results = page.locator(".results > li a");
    const missed: string[] = [];
    for (const [query, ...pages] of SEARCHES) {
      // The results of the query before are gone.
      await page.fill("#localsearch-input", "");
      await expect.poll(() => results.count()).toBe(0);
      await page.fill("#localsearch-input", query);
      await results.first().waitFor();
      const links = await results.evaluateAll((all) => all.slice(0, 3).map((one) => String(one)));
      const paths = links.map((link) => new URL(link).pathname);
      const isFound = pages.some((to) => paths.includes(`/${to}.html`));
      if (!isFound) missed.push(`${query}: ${paths.join(" ")}`);
    }
    expect(SEARCHES).toHaveLength(48);
    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(4);
  });

  test("on a phone no table is too wide, and at 1300 px no code is cut off", async () => {
    const hidden: string[] = [];
    const look = async (file: string, selector: string) => {
      const count = await page.evaluate<number>(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((one) => one.scrollWidth > one.clientWidth + 1).length`,
      );
      if (count > 0) hidden.push(`${file}: ${String(count)} of ${selector}`);
    };
    const files = "index handlers options stores test-handlers answers".split(" ");
    for (const file of files) {
      await page.setViewportSize(PHONE);
      await page.goto(`${site.url}${file}.html`, { waitUntil: "load" });
      await look(file, ".vp-doc table");
      await page.setViewportSize({ width: 1300, height: 900 });
      await look(file, ".vp-doc pre");
    }
    expect(hidden).toEqual([]);
  });
});
