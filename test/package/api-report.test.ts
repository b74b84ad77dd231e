import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";
import { textOf } from "../support/package/sources.js";

/** The exports that the report of an entry shows, each once, and those of them that are experimental. */
function exportsOf(report: string): { all: Set<string>; experimental: Set<string> } {
  const text = textOf(`api/${report}`);
  const found = [...text.matchAll(/^\/\/ @public(.*)\nexport (?:abstract )?\w+ (\w+)/gm)];
  const marked = found.filter(([, marks]) => marks?.includes("@experimental") === true);
  const namesOf = (matches: typeof found): Set<string> =>
    new Set(matches.map(([, , name = ""]) => name));
  return { all: namesOf(found), experimental: namesOf(marked) };
}

test("all entries together have at most 300 public names", () => {
  const files = readdirSync(path.join(REPOSITORY, "api"));
  const reports = files.filter((file) => file.endsWith(".api.md"));
  const names = new Set(reports.flatMap((report) => [...exportsOf(report).all]));
  expect(names.size).toBeGreaterThan(150);
  expect(names.size).toBeLessThanOrEqual(300);
});

test("every export of /management is experimental", () => {
  const { all, experimental } = exportsOf("management.api.md");
  expect(all.size).toBeGreaterThan(0);
  expect(experimental).toEqual(all);
});

test("every export of /testing is experimental but the dozen that docs/test-handlers.md lists as stable", () => {
  const { all, experimental } = exportsOf("testing.api.md");
  const stable = [...all].filter((name) => !experimental.has(name));
  expect(stable).toHaveLength(12);
  const page = textOf("docs/test-handlers.md");
  const [line = ""] = /^.*these functions are stable.*$/m.exec(page) ?? [];
  expect(line.match(/(?<=`)\w+(?=`)/g)?.toSorted()).toEqual(stable.toSorted());
});
