import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as kit from "../../src/testing/index.js";
import { FINAL_STATUSES, RETRYABLE_STATUSES } from "../../src/testing/twin/attempt-result.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installForPartner, type PartnerProject } from "../support/package/partner-project.js";

const TESTING = readMarkdown("docs/testing.md");
const TEST_FILE = /^\/\/ (\S+\.test\.ts)\n/;

test("docs/testing.md names every export of /testing", () => {
  const named = new Set(TESTING.text.match(/\b[A-Za-z_]+\b/g));
  // The page names the functions that throw these errors.
  const errors = ["CaptureError", "ContractError", "FixtureError", "SendError"];
  const missing = Object.keys(kit).filter((name) => !named.has(name));
  expect(missing.sort()).toEqual(errors);
});

test("docs/testing.md has the retryable and final statuses of the gateway twin", () => {
  const statuses = TESTING.table("after").map(([after = ""]) => after.match(/\b[0-9]{3}\b/g) ?? []);
  expect(statuses[1]?.map(Number)).toEqual(RETRYABLE_STATUSES);
  expect(statuses[2]?.map(Number)).toEqual(FINAL_STATUSES);
});

describe("the links", () => {
  test.each([
    ...["README.md", "SECURITY.md", "CONTRIBUTING.md", "examples/README.md"],
    ...["docs/testing.md", "docs/stores.md", "docs/faults.md", "docs/cloudflare.md"],
    "docs/monitoring.md",
    "docs/management.md",
    ...["docs/frameworks.md", "docs/platforms.md", "docs/nestjs.md", "docs/aws-lambda.md"],
    "docs/monitoring.md",
  ])("the links of %s lead to existing targets in the repository", (file) => {
    expect(brokenLinks(REPOSITORY, file)).toEqual([]);
  });

  test("the links of every document in the tarball lead to existing targets in the tarball", () => {
    const project = installForPartner();
    const unpacked = path.join(project.folder, "node_modules/identity-gateway-webhooks");
    const documents = readdirSync(unpacked, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".md"),
    );
    const broken = documents.flatMap((file) => brokenLinks(unpacked, file));
    project.remove();
    expect(documents).toContain("README.md");
    expect(broken).toEqual([]);
  });
});

/** The relative links of a document whose file or anchor is missing below `root`. */
function brokenLinks(root: string, file: string): readonly string[] {
  const { text } = readMarkdown(file, root);
  const links = Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, to = ""]) => to);
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

describe("the snippets of docs/testing.md", () => {
  let project: PartnerProject;

  beforeAll(() => {
    project = installForPartner();
  });

  afterAll(() => {
    project.remove();
  });

  test("the snippets of docs/testing.md compile against the installed package", () => {
    const snippets = TESTING.snippets("ts");
    expect(snippets.length).toBeGreaterThanOrEqual(10);
    expect(project.compile(snippets)).toBe("");
  });

  test("the tests among the snippets of docs/testing.md pass in the partner's runner", () => {
    const files = TESTING.snippets("ts").flatMap((code) => {
      const [, file] = TEST_FILE.exec(code) ?? [];
      return file === undefined ? [] : [{ file, code }];
    });
    for (const { file, code } of files) project.write(file, code);
    expect(files.length).toBeGreaterThanOrEqual(7);
    const output = project.vitest();
    expect(output).toMatch(new RegExp(`Test Files\\s+${String(files.length)} passed`));
    expect(output).not.toMatch(/failed|skipped/);
  });
});
