import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

/** Methods that look for a pattern in the text they are called on, and those of a RegExp. */
const OF_TEXT =
  /^(?:match|matchAll|includes|startsWith|endsWith|search|indexOf|replace|replaceAll|split)$/;
const OF_PATTERN = /^(?:test|exec)$/;
/** Members and variables that hold a sentence of this package. */
const SENTENCE = /(?:^|\.)(?:message|reason|detail|why|fix|title|fault)$/;
const TWO_WORDS = /[a-z]{3,} [a-z]{2,}/i;

/** Texts of other systems, which have no code of their own. */
const FOREIGN: Readonly<Record<string, string>> = {
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
  "cli/doctor/preflight.ts": "OpenSSL",
  "cli/init-stores.ts": "the source of an example",
  "kit/sending/target.ts": "OpenSSL",
};

interface Match {
  readonly file: string;
  readonly code: string;
}

function matchesIn(file: string): readonly Match[] {
  const text = readFileSync(path.join(REPOSITORY, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
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
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no code finds out by a pattern what a message of this package says", () => {
  const files = ["src", "adapters", "kit", "cli"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => path.posix.join(folder, file)),
  );
  const matches = files.flatMap(matchesIn);
  expect(matches.filter(({ file }) => !(file in FOREIGN))).toEqual([]);
  // Each of them still reads such a text.
  const foreign = new Set(matches.map(({ file }) => file).filter((file) => file in FOREIGN));
  expect([...foreign].toSorted()).toEqual(Object.keys(FOREIGN).toSorted());
});
