import { expect, test } from "vitest";
import * as management from "../../src/management/index.js";
import { finding, WEBHOOK_FINDING_CODES } from "../../src/management/webhook-findings.js";
import { runCommand } from "../support/cli/cli-io.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

const PAGE = readMarkdown("docs/management.md");

test("docs/management.md names every export of /management", () => {
  const named = new Set(PAGE.text.match(/\b[A-Za-z_]+\b/g));
  expect(Object.keys(management).filter((name) => !named.has(name))).toEqual([]);
});

test("docs/management.md lists every finding of a check, and each says what it means and what to do", () => {
  expect(PAGE.table("finding").map(([code]) => code)).toEqual(WEBHOOK_FINDING_CODES);
  for (const code of WEBHOOK_FINDING_CODES) {
    const { consequence, fix } = finding(code);
    expect([consequence, fix].filter((text) => /^[A-Z`].*\.$/.test(text))).toHaveLength(2);
  }
});

test("each open point in docs/management.md has what we assume and how a wrong assumption shows", () => {
  const points = PAGE.table("open point");
  expect(points.length).toBeGreaterThanOrEqual(15);
  for (const [point = "", assumed = ""] of points) {
    expect([point, assumed].every((text) => text.length > 5)).toBe(true);
  }
});

test("every command in docs/management.md has only options that the command has", async () => {
  const commands = PAGE.snippets("sh").flatMap((code) => code.match(/^npx .*$/gm) ?? []);
  expect(commands.length).toBeGreaterThanOrEqual(7);
  for (const command of commands) {
    const [, , ...words] = command.split(" ");
    const name = words[0] === "webhooks" ? words.slice(0, 2) : words.slice(0, 1);
    const { code, stdout } = await runCommand([...name, "--help"]);
    expect(code).toBe(0);
    for (const option of words.filter((word) => word.startsWith("--"))) {
      expect(stdout).toContain(`  ${option} `);
    }
  }
});

const partner = partnerProject();

test("the snippets of docs/management.md that are tests pass in the partner's runner", () => {
  partner().write("management.test.ts", PAGE.snippet("ts", "// management.test.ts"));
  expect(partner().vitest()).toMatch(/Test Files\s+1 passed/);
});
