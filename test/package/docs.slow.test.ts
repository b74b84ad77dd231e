import { expect, test } from "vitest";
import * as kit from "../../kit/index.js";
import { FINAL_STATUSES, RETRYABLE_STATUSES } from "../../src/common/gateway-facts.js";
import { TESTING_DOCUMENTS } from "../support/package/documents.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const PAGES = TESTING_DOCUMENTS.map((file) => readMarkdown(file));
const TEST_FILE = /^\/\/ (\S+\.test\.ts)\n/;

test("the documents about tests name every export of /testing", () => {
  const named = new Set(PAGES.flatMap(({ text }) => text.match(/\b[A-Za-z_]+\b/g) ?? []));
  // They name the functions that throw these errors.
  const errors = ["CaptureError", "FixtureError"];
  const missing = Object.keys(kit).filter((name) => !named.has(name));
  expect(missing.sort()).toEqual(errors);
});

test("docs/test-deliveries.md has the retryable and final statuses of the gateway twin", () => {
  const statuses = readMarkdown("docs/test-deliveries.md")
    .table("after")
    .map(([after = ""]) => after.match(/\b[0-9]{3}\b/g) ?? []);
  expect(statuses[1]?.map(Number)).toEqual(RETRYABLE_STATUSES);
  expect(statuses[2]?.map(Number)).toEqual(FINAL_STATUSES);
});

const partner = partnerProject();

test("the tests among the snippets of the documents about tests pass in the partner's runner", () => {
  const snippets = PAGES.flatMap((page) => page.snippets("ts"));
  const files = snippets.flatMap((code) => {
    const [, file] = TEST_FILE.exec(code) ?? [];
    return file === undefined ? [] : [{ file, code }];
  });
  for (const { file, code } of files) partner().write(file, code);
  expect(files.length).toBeGreaterThanOrEqual(9);
  const output = partner().vitest();
  expect(output).toMatch(new RegExp(`Test Files\\s+${String(files.length)} passed`));
  // A title of a test that takes long may have one of these words.
  expect(output).not.toMatch(/\d (?:failed|skipped)/);
});
