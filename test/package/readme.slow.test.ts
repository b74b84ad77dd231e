import { expect, test } from "vitest";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const README = readMarkdown("README.md");
const SERVER = README.snippet("ts", "// server.ts");

test("the README has at most 200 lines, and its sections stand in the order of a reader's questions", () => {
  expect(README.text.split("\n").length).toBeLessThanOrEqual(200);
  const sections = Array.from(README.text.matchAll(/^## (.+)$/gm), ([, heading]) => heading);
  expect(sections).toEqual([
    "Install",
    "The first delivery",
    "Try the repository",
    "What it guarantees",
    "Pick your framework",
    "Pick your store",
    "Prove it",
    "See it live",
    "Performance",
    "Links",
  ]);
});

test("the README's first snippet has at most 15 lines and a handler for both types", () => {
  expect(SERVER.trim().split("\n").length).toBeLessThanOrEqual(15);
  expect(SERVER).toContain("new_alarm:");
  expect(SERVER).toContain("delete_my_data_event:");
});

test("the quick start has the README's server and the README's first commands", () => {
  const page = readMarkdown("docs/quickstart.md");
  const [, start, send] = README.snippets("sh");
  expect(page.snippet("ts", "// server.ts")).toBe(SERVER);
  expect(page.snippets("sh")).toEqual(expect.arrayContaining([start, send]));
});

test("the README says what is guaranteed and which store to pick in five lines each", () => {
  expect(README.table("guarantee")).toHaveLength(5);
  expect(README.table("you have")).toHaveLength(5);
});

test("the README shows three rows of performance", () => {
  expect(README.table("store | by hand")).toHaveLength(3);
});

const partner = partnerProject();

test("the README's test passes in the partner's runner", () => {
  partner().write("receiver.test.ts", README.snippet("ts", "// receiver.test.ts"));
  const output = partner().vitest("receiver.test.ts");
  expect(output).toMatch(/Tests\s+[0-9]{2,} passed/);
  expect(output).not.toMatch(/failed/);
});

test("the fixture test of docs/handlers.md passes in the partner's runner", () => {
  const page = readMarkdown("docs/handlers.md");
  partner().write("alarm.test.ts", page.snippet("ts", "// alarm.test.ts"));
  expect(partner().vitest("alarm.test.ts")).toMatch(/Tests\s+1 passed/);
});
