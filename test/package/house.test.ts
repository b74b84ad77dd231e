import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { DOCUMENTS } from "../support/package/documents.js";
import { readMarkdown } from "../support/package/markdown.js";
import { REPOSITORY } from "../support/package/installed-package.js";

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

function sourcesIn(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => path.posix.join(folder, file)),
  );
}

function read(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), "utf8");
}

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
  const documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
  const pages = readdirSync(path.join(REPOSITORY, "docs")).filter((file) => file.endsWith(".md"));
  const files = [
    ...sourcesIn("src", "adapters", "kit", "cli", "test", "examples", "bench/src").filter(
      (file) => file !== own,
    ),
    ...documents,
    ...pages.map((page) => `docs/${page}`),
  ];
  const words = files.flatMap((file) =>
    (read(file).match(OLD_WORDS) ?? []).map((word) => `${file}: ${word}`),
  );
  expect(words.length, words.join("\n")).toBeLessThanOrEqual(MAX_OLD_WORDS);
});

test("no docstring, message or document names a file that users do not have", () => {
  const internal = /\b(?:GATEWAY|SIGNING|DESIGN|STYLE|TOOLCHAIN)\.md\b/;
  const documents = readdirSync(path.join(REPOSITORY, "docs"), { encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`);
  const files = [...SOURCES, ...documents, "README.md", "CHANGELOG.md", "SECURITY.md"];
  expect(files.filter((file) => internal.test(read(file)))).toEqual([]);
});

test("no link of a document is named by its file", () => {
  const named = DOCUMENTS.flatMap((file) =>
    Array.from(read(file).matchAll(/\[`?[\w./-]+\.md`?\]\(/g), ([link]) => `${file}: ${link}`),
  );
  expect(named).toEqual([]);
});
