import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { navigation } from "../../docs/site/navigation.js";
import { brokenLinks, DOCUMENTS } from "../support/package/documents.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const partner = partnerProject();

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

test("each of the 26 questions on the first page links to its answer", () => {
  const questions = readMarkdown("docs/index.md").text.matchAll(/^\d+\. \[.*\]\((.+)\)$/gm);
  const links = Array.from(questions, ([, link = ""]) => link);
  expect(new Set(links).size).toBe(26);
});

test("every page of docs/ has its place in the navigation of the site", () => {
  const others = navigation().filter(({ title }) => title === "More");
  expect(others.flatMap(({ pages }) => pages.map(({ file }) => file))).toEqual([]);
});
