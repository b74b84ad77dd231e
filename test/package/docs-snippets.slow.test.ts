import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import { ENTRIES } from "../../release/entries.js";
import { ENGINES } from "../engines.js";
import { DOCUMENTS } from "../support/package/documents.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

/** Needs Nest's decorators: test/package/nestjs.test.ts compiles it in a Nest partner(). */
const OWN_PROJECT = "docs/nestjs.md";
const PEERS = ENTRIES.flatMap(({ engine, peers = [] }) =>
  peers.flatMap(({ names, engine: own = engine }) =>
    names.map((name) => ({ name, folder: ENGINES[own ?? ""]?.folder })),
  ),
);
const isInstalled = ({ name }: { name: string }) =>
  existsSync(path.join(REPOSITORY, "node_modules", name));
const TOOLS = [
  ...PEERS.filter(isInstalled).map(({ name }) => name),
  "@types/pg",
  "@nats-io/nats-core",
];

const snippetsOf = (language: string) =>
  DOCUMENTS.filter((file) => file !== OWN_PROJECT).flatMap((file) =>
    readMarkdown(file)
      .snippets(language)
      .map((code, at) => ({ name: `${file}, ${language} snippet ${String(at + 1)}`, code })),
  );

const partner = partnerProject(...TOOLS);

test("every TypeScript snippet of the documents compiles against the installed package", () => {
  const snippets = snippetsOf("ts");
  expect(snippets.length).toBeGreaterThanOrEqual(40);
  for (const { name, folder = "" } of PEERS.filter((peer) => !isInstalled(peer))) {
    partner().borrow(name, `test/platforms/${folder}`);
  }
  const files = snippets.map(({ name }, at) => `snippet-${String(at)}.ts is ${name}`);
  const errors = partner().compile(snippets.map(({ code }) => code));
  expect(errors, files.join("\n")).toBe("");
});

test("every JavaScript snippet of the documents can be parsed", async () => {
  const snippets = snippetsOf("js");
  expect(snippets.length).toBeGreaterThanOrEqual(30);
  for (const { name, code } of snippets) {
    await expect(transform(code, { loader: "jsx" }), name).resolves.toBeDefined();
  }
});

test("every JSON snippet of the documents is JSON", () => {
  for (const { name, code } of snippetsOf("json")) {
    expect(() => JSON.parse(code) as unknown, name).not.toThrow();
  }
});

test("every shell snippet of the documents can be parsed by bash", () => {
  const snippets = snippetsOf("sh");
  expect(snippets.length).toBeGreaterThanOrEqual(20);
  // A word such as <url> stands for something of the reader's.
  const script = snippets.map(({ code }) => code.replaceAll(/<[a-z]+>/g, "value")).join("\n");
  expect(() => execFileSync("bash", ["-n"], { input: script })).not.toThrow();
});

const used = DOCUMENTS.flatMap((file) => {
  const commands = readMarkdown(file).text.matchAll(
    /identity-gateway-webhooks (send|replay|doctor|listen|explain)\b([^`\n|]*)/g,
  );
  return Array.from(commands, ([, command = "", rest = ""]) => ({ file, command, rest }));
});

test.each([...new Set(used.map(({ command }) => command))])(
  "every option of %s that the documents name exists",
  (command) => {
    const cli = path.join(REPOSITORY, "dist/cli.js");
    const help = execFileSync(process.execPath, [cli, command, "--help"], { encoding: "utf8" });
    const options = used
      .filter((one) => one.command === command)
      .flatMap(({ file, rest }) =>
        (rest.match(/(?<= )--[a-z][a-z-]*/g) ?? []).map((option) => `${option} (${file})`),
      );
    const unknown = options.filter((option) => !help.includes(option.split(" ")[0] ?? ""));
    expect(unknown).toEqual([]);
  },
);

test("every npm script that the documents name exists", () => {
  const { scripts } = JSON.parse(readMarkdown("package.json").text) as {
    scripts: Record<string, string>;
  };
  const named = DOCUMENTS.flatMap((file) =>
    Array.from(
      readMarkdown(file).text.matchAll(/npm run ([a-z][a-z:-]*[a-z])/g),
      ([, name = ""]) => name,
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});
