import { readdirSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { DOCUMENTS } from "../support/package/documents.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { sourcesIn, textOf as read } from "../support/package/sources.js";

const MAX_ROOMS = 16;
const MAX_LINES = 300;
/** Files that are shorter than this, each an index, a type or a public entry. */
const SHORT_LINES = 25;
const MAX_SHORT_FILES = 26;
/** Words of STYLE's table that are never the right ones here, and how often they may still occur. */
const OLD_WORDS =
  /\b(?:nobody|whoever|somebody|heeds?|heeded|mends?|mended|verdicts?|spoiled|durably)\b/gi;
const MAX_OLD_WORDS = 9;

const SOURCES = sourcesIn("src", "adapters", "kit", "cli");

const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...readdirSync(path.join(REPOSITORY, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

/** The files of the repository that a file imports, types and dynamic imports included. */
function importsOf(file: string): readonly string[] {
  return ts
    .preProcessFile(read(file), true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."))
    .map((name) => path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, ".ts"));
}

/** The folder or file at the top level of `src/`, or the whole of another folder. */
function roomOf(file: string): string {
  const [top = "", entry = ""] = file.split("/");
  return top === "src" ? `${top}/${entry}` : top;
}

function linesOf(file: string): number {
  return read(file).split("\n").length - 1;
}

/** The circles of imports that a walk from each file meets. */
function circles(): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (way.includes(file) || done.has(file)) return;
    for (const imported of importsOf(file)) walk(imported, [...way, file]);
    done.add(file);
  };
  for (const file of SOURCES) walk(file, []);
  return found;
}

test("every import names a file that exists", () => {
  const missing = SOURCES.flatMap((file) =>
    importsOf(file).filter((imported) => !SOURCES.includes(imported)),
  );
  expect(SOURCES.length).toBeGreaterThan(300);
  expect(missing).toEqual([]);
});

test("no import is part of a circle", () => {
  expect(circles()).toEqual([]);
});

test("the receiver loads no zod: only /schemas and the kit do", () => {
  const users = SOURCES.filter((file) => /from "zod\b/.test(read(file)));
  expect(users.sort()).toEqual(["kit/fixtures/fixture.ts", "src/records/schemas.ts"]);
  const importers = SOURCES.filter((file) => importsOf(file).includes("src/records/schemas.ts"));
  expect(importers).toEqual([]);
});

test("the four folders have at most 16 rooms together", () => {
  expect(new Set(SOURCES.map(roomOf)).size).toBeLessThanOrEqual(MAX_ROOMS);
});

test("each import points to a room further up in CONTRIBUTING's table of rooms", () => {
  const rooms = readMarkdown("CONTRIBUTING.md")
    .table("room")
    .map(([room = ""]) => room.replace(/\/$/, ""));
  const placeOf = (file: string): number =>
    rooms.findIndex((room) => file === room || file.startsWith(`${room}/`));
  const wrong = SOURCES.flatMap((file) =>
    importsOf(file)
      .filter((imported) => placeOf(imported) > placeOf(file))
      .map((imported) => `${file} → ${imported}`),
  );
  expect(SOURCES.filter((file) => placeOf(file) === -1)).toEqual([]);
  expect(wrong).toEqual([]);
});

test("no file has more than 300 lines, and at most 26 have fewer than 25", () => {
  expect(SOURCES.filter((file) => linesOf(file) > MAX_LINES)).toEqual([]);
  const short = SOURCES.filter((file) => linesOf(file) < SHORT_LINES);
  expect(short.length).toBeLessThanOrEqual(MAX_SHORT_FILES);
});

test("code, tests and documents hardly use the old words", () => {
  const own = "test/package/house.test.ts";
  const code = [...SOURCES, ...sourcesIn("test", "examples", "bench/src")];
  const words = [...code.filter((file) => file !== own), ...PAGES].flatMap((file) =>
    (read(file).match(OLD_WORDS) ?? []).map((word) => `${file}: ${word}`),
  );
  expect(words.length, words.join("\n")).toBeLessThanOrEqual(MAX_OLD_WORDS);
});

test("no docstring, message or document names a file that users do not have", () => {
  const internal = /\b(?:GATEWAY|SIGNING|DESIGN|STYLE|TOOLCHAIN)\.md\b/;
  const documents = PAGES.filter((file) => file !== "CONTRIBUTING.md");
  const named = [...SOURCES, ...documents].filter((file) => internal.test(read(file)));
  expect(named).toEqual([]);
});

test("no link of a document is named by its file", () => {
  const named = DOCUMENTS.flatMap((file) =>
    Array.from(read(file).matchAll(/\[`?[\w./-]+\.md`?\]\(/g), ([link]) => `${file}: ${link}`),
  );
  expect(named).toEqual([]);
});

/** Methods that look for a pattern in the text they are called on, and those of a RegExp. */
const OF_TEXT =
  /^(?:match|matchAll|includes|startsWith|endsWith|search|indexOf|replace|replaceAll|split)$/;
const OF_PATTERN = /^(?:test|exec)$/;
/** Members and variables that hold a sentence of this package. */
const SENTENCE = /(?:^|\.)(?:message|reason|detail|why|fix|title|fault)$/;
const TWO_WORDS = /[a-z]{3,} [a-z]{2,}/i;

/** Texts of other systems, which have no code of their own. */
const FOREIGN: Readonly<Record<string, string>> = {
  "adapters/fastify.ts": "Fastify",
  "src/answer/outcome-causes.ts": "clients of Redis",
  "src/management/gateway-errors.ts": "the gateway",
  "src/stores/cloudflare/d1-store.ts": "D1",
  "src/stores/mysql/guarded-connection.ts": "SQL of a handler",
  "src/stores/postgres/guarded-client.ts": "SQL of a handler",
  "src/stores/redis/script-runner.ts": "clients of Redis",
  "src/stores/sqlite/errors.ts": "drivers of SQLite",
  "src/stores/sqlite/open-deliveries.ts": "SQLite",
  "src/stores/sqlite/sqlite-transactions.ts": "SQLite",
  "src/stores/sqlite/write-transactions.ts": "SQLite",
  "kit/conformance/answers.ts": "receivers in any language",
  "cli/doctor/preflight.ts": "OpenSSL",
  "cli/init-plan.ts": "the source of an example",
  "cli/init-stores.ts": "the source of an example",
  "cli/init-text.ts": "the source of an example",
  "kit/sending/target.ts": "OpenSSL",
};

interface Match {
  readonly file: string;
  readonly code: string;
}

function matchesIn(file: string): readonly Match[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const found: Match[] = [];
  const add = (node: ts.Node): void => void found.push({ file, code: node.getText(source) });
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node) && TWO_WORDS.test(node.text)) add(node);
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: on, name } = node.expression;
      const [given] = node.arguments;
      const isOnSentence = OF_TEXT.test(name.text) && SENTENCE.test(on.getText(source));
      const looksFor = given !== undefined && ts.isStringLiteral(given) ? given.text : "";
      const isForWords = OF_TEXT.test(name.text) && TWO_WORDS.test(looksFor);
      const isTest = OF_PATTERN.test(name.text) && SENTENCE.test(given?.getText(source) ?? "");
      if (isOnSentence || isForWords || isTest) add(node);
    }
    const isEqual =
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken &&
      ts.isStringLiteralLike(node.right);
    if (isEqual && SENTENCE.test(node.left.getText(source)) && TWO_WORDS.test(node.right.text))
      add(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** What the linter has no rule for: a literal that is spread into another one, and `private` in place of `#`. */
function badlyWritten(file: string): readonly string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const spread =
      ts.isSpreadAssignment(node) || ts.isSpreadElement(node) ? node.expression : undefined;
    const isLiteral =
      spread && (ts.isObjectLiteralExpression(spread) || ts.isArrayLiteralExpression(spread));
    const isPrivate =
      node.kind === ts.SyntaxKind.PrivateKeyword && !ts.isConstructorDeclaration(node.parent);
    if (isLiteral === true || isPrivate) found.push(`${file}: ${node.parent.getText(source)}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no literal is spread into another one, and what is private has a #", () => {
  expect(SOURCES.flatMap(badlyWritten)).toEqual([]);
});

test("no code finds out by a pattern or a comparison what a message of this package says", () => {
  const matches = SOURCES.flatMap(matchesIn);
  expect(matches.filter(({ file }) => !(file in FOREIGN))).toEqual([]);
  // Each of them still reads such a text.
  const foreign = new Set(matches.map(({ file }) => file).filter((file) => file in FOREIGN));
  expect([...foreign].toSorted()).toEqual(Object.keys(FOREIGN).toSorted());
});

test("no text of the code names a document by its file; cli/documents.ts alone knows the files", () => {
  const named = SOURCES.filter((file) => textsOf(file).some((text) => DOCUMENT.test(text)));
  expect(named).toEqual(["cli/documents.ts"]);
});

/** How a text names a file of the documents. */
const DOCUMENT = /\.md\b|\bdocs\/|\breadme\b/i;

/** The texts in a file's code, without its comments. */
function textsOf(file: string): readonly string[] {
  const code = read(file);
  if (!DOCUMENT.test(code)) return [];
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    const isPart = ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
    if (isPart || ts.isStringLiteralLike(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}
