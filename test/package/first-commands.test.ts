import { expect, it } from "vitest";
import { textOf } from "../support/package/sources.js";
import { readMarkdown } from "../support/package/markdown.js";

const COMMANDS = readMarkdown("README.md").snippet("sh", "npm ci && npm test");

it("CONTRIBUTING begins with the README's two commands", () => {
  expect(readMarkdown("CONTRIBUTING.md").snippets("sh")[0]).toBe(COMMANDS);
});

it(".ci/run runs the README's two commands with nothing but Node on the PATH", () => {
  const commands = Array.from(COMMANDS.matchAll(/&& (npm [a-z ]*[a-z])/g), ([, name]) => name);
  expect(commands).toEqual(["npm run demo", "npm test"]);
  const ci = textOf(".ci/run");
  for (const command of ["npm ci", ...commands]) expect(ci).toContain(`with_node_only ${command}`);
});
