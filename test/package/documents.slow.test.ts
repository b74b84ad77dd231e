import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import { navigation } from "../../docs/site/navigation.js";
import * as kit from "../../kit/index.js";
import { FINAL_STATUSES, RETRYABLE_STATUSES } from "../../src/common/gateway-facts.js";
import * as management from "../../src/management/index.js";
import { WEBHOOK_FINDING_CODES, finding } from "../../src/management/webhook-findings.js";
import { runCommand } from "../support/cli/cli-io.js";
import { DOCUMENTS, TESTING_DOCUMENTS } from "../support/package/documents.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const partner = partnerProject();

const README = readMarkdown("README.md");
const MANAGEMENT = readMarkdown("docs/management.md");
const TESTING = TESTING_DOCUMENTS.map((file) => readMarkdown(file));
const TEST_FILE = /^\/\/ (\S+\.test\.ts)\n/;

test("the documents about tests name every export of /testing", () => {
  const named = new Set(TESTING.flatMap(({ text }) => text.match(/\b[A-Za-z_]+\b/g) ?? []));
  // They name the functions that throw these errors.
  const errors = ["CaptureError", "FixtureError"];
  const missing = Object.keys(kit).filter((name) => !named.has(name));
  expect(missing.sort()).toEqual(errors);
});

test("docs/answers.md has the retryable and final statuses of the gateway", () => {
  const statuses = readMarkdown("docs/answers.md")
    .table("answer")
    .map(([answer = ""]) => answer.match(/\b[0-9]{3}\b/g) ?? []);
  expect(statuses[1]?.map(Number)).toEqual(RETRYABLE_STATUSES);
  expect(statuses[2]?.map(Number)).toEqual(FINAL_STATUSES);
});

test("the tests among the snippets of the documents about tests pass in the partner's runner", () => {
  const snippets = TESTING.flatMap((page) => page.snippets("ts"));
  const files = snippets.flatMap((code) => {
    const [, file] = TEST_FILE.exec(code) ?? [];
    return file === undefined ? [] : [{ file, code }];
  });
  for (const { file, code } of files) partner().write(`testing/${file}`, code);
  expect(files.length).toBeGreaterThanOrEqual(9);
  const output = partner().vitest("testing/");
  expect(output).toMatch(new RegExp(`Test Files\\s+${String(files.length)} passed`));
  // A title of a test that takes long may have one of these words.
  expect(output).not.toMatch(/\d (?:failed|skipped)/);
});

test.each(DOCUMENTS)("the links of %s lead to existing targets in the repository", (file) => {
  expect(brokenLinks(REPOSITORY, file)).toEqual([]);
});

test("the links of every document in the tarball lead to existing targets in the tarball", () => {
  const unpacked = path.join(partner().folder, "node_modules/identity-gateway-webhooks");
  const documents = readdirSync(unpacked, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".md"),
  );
  const broken = documents.flatMap((file) => brokenLinks(unpacked, file));
  expect(documents).toEqual(expect.arrayContaining(["README.md", "examples/README.md"]));
  expect(broken).toEqual([]);
});

test("every page of docs/ has its place in the navigation of the site", () => {
  const others = navigation().filter(({ title }) => title === "More");
  expect(others.flatMap(({ pages }) => pages.map(({ file }) => file))).toEqual([]);
});

test("docs/management.md names every export of /management", () => {
  const named = new Set(MANAGEMENT.text.match(/\b[A-Za-z_]+\b/g));
  expect(Object.keys(management).filter((name) => !named.has(name))).toEqual([]);
});

test("docs/management.md lists every finding of a check, and each says what it means and what to do", () => {
  expect(MANAGEMENT.table("finding").map(([code]) => code)).toEqual(WEBHOOK_FINDING_CODES);
  for (const code of WEBHOOK_FINDING_CODES) {
    const { consequence, fix } = finding(code);
    expect([consequence, fix].filter((text) => /^[A-Z`].*\.$/.test(text))).toHaveLength(2);
  }
});

test("each open point in docs/management.md has what we assume and how a wrong assumption shows", () => {
  const points = MANAGEMENT.table("open point");
  expect(points.length).toBeGreaterThanOrEqual(15);
  for (const [point = "", assumed = ""] of points) {
    expect([point, assumed].every((text) => text.length > 5)).toBe(true);
  }
});

test.each([
  ["docs/management.md", "// management.test.ts", /Test Files\s+1 passed/],
  ["README.md", "// receiver.test.ts", /Tests\s+[0-9]{2,} passed/],
])("the test of %s passes in the partner's runner", (file, firstLine, passed) => {
  const folder = path.basename(file, ".md");
  partner().write(`${folder}/a.test.ts`, readMarkdown(file).snippet("ts", firstLine));
  expect(partner().vitest(`${folder}/`)).toMatch(passed);
});

const SERVER = README.snippet("ts", "// server.ts");

test("the README has at most 200 lines, and its sections stand in the order of a reader's questions", () => {
  expect(README.text.split("\n").length).toBeLessThanOrEqual(200);
  const sections = Array.from(README.text.matchAll(/^## (.+)$/gm), ([, heading]) => heading);
  expect(sections).toEqual([
    "Install",
    "The first delivery",
    "What it guarantees",
    "Which alarms did I miss?",
    "Pick your framework",
    "Pick your store",
    "Prove it",
    "Try the repository",
  ]);
});

test("the README's first snippet has at most 15 lines and a handler for both types", () => {
  expect(SERVER.trim().split("\n").length).toBeLessThanOrEqual(15);
  expect(SERVER).toContain("new_alarm:");
  expect(SERVER).toContain("delete_my_data_event:");
});

test("the first page has the README's server and the README's first commands", () => {
  const page = readMarkdown("docs/index.md");
  const [, start, send] = README.snippets("sh");
  expect(page.snippet("ts", "// server.ts")).toBe(SERVER);
  expect(page.snippets("sh")).toEqual(expect.arrayContaining([start, send]));
});

test.each([
  ["what is guaranteed", "guarantee", 5],
  ["which store to pick", "you have", 5],
])("the README says %s in a table of a few lines", (_what, title, lines) => {
  expect(README.table(title)).toHaveLength(lines);
});

test("the page for coding agents has at most 120 lines, and the README's test, which runs", () => {
  const page = readMarkdown("AGENTS.md");
  expect(page.text.split("\n").length).toBeLessThanOrEqual(120);
  expect(page.snippet("ts", "// receiver.test.ts")).toBe(
    README.snippet("ts", "// receiver.test.ts"),
  );
  expect(page.table("mistake")).toHaveLength(5);
});

const snippetsOf = (language: string) =>
  DOCUMENTS.flatMap((file) =>
    readMarkdown(file)
      .snippets(language)
      .map((code, at) => ({ name: `${file}, ${language} snippet ${String(at + 1)}`, code })),
  );

/** The snippets of a language, of which there are at least so many. */
function manySnippets(language: string, least: number) {
  const snippets = snippetsOf(language);
  expect(snippets.length).toBeGreaterThanOrEqual(least);
  return snippets;
}

test("every JavaScript snippet of the documents can be parsed", async () => {
  for (const { name, code } of manySnippets("js", 30)) {
    await expect(transform(code, { loader: "jsx" }), name).resolves.toBeDefined();
  }
});

test("every JSON snippet of the documents is JSON", () => {
  for (const { name, code } of snippetsOf("json")) {
    expect(() => JSON.parse(code) as unknown, name).not.toThrow();
  }
});

test("every shell snippet of the documents can be parsed by bash", () => {
  const snippets = manySnippets("sh", 20);
  // A word such as <url> stands for something of the reader's.
  const script = snippets.map(({ code }) => code.replaceAll(/<[a-z]+>/g, "value")).join("\n");
  expect(() => execFileSync("bash", ["-n"], { input: script })).not.toThrow();
});

/** The commands that the documents show, each with its options. */
const shown = DOCUMENTS.flatMap((file) => {
  const commands = readMarkdown(file).text.matchAll(
    /identity-gateway-webhooks (webhooks [a-z]+|send|replay|doctor|listen|explain|gateway)\b([^`\n|]*)/g,
  );
  return Array.from(commands, ([, command = "", rest = ""]) => {
    const options = (rest.match(/(?<= )--[a-z][a-z-]*/g) ?? []).map((option) => [option, file]);
    return { command, options };
  });
});

test.each([...new Set(shown.map(({ command }) => command))])(
  "every option of %s that the documents name exists",
  async (command) => {
    const { stdout } = await runCommand(`${command} --help`);
    const known = stdout.split(/[\s,]+/);
    const named = shown.filter((one) => one.command === command).flatMap(({ options }) => options);
    expect(named.filter(([option = ""]) => !known.includes(option))).toEqual([]);
  },
);

/** The relative links of a document whose file or anchor is missing below `root`. */
function brokenLinks(root: string, file: string): readonly string[] {
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
