import { expect, test } from "vitest";
import * as core from "../../src/index.js";
import * as inbox from "../../src/inbox/index.js";
import * as management from "../../src/management/index.js";
import * as kit from "../../kit/index.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { readErrorCodes } from "../../cli/explain-page.js";
import { sourcesIn, textOf } from "../support/package/sources.js";

const ERROR_CODES = readErrorCodes();

/** The codes of each class that has a type for them, from the API reports: `"a" | "b"`. */
const CODES = ["index", "management"].flatMap((entry) => {
  const report = textOf(`api/${entry}.api.md`);
  const types = report.matchAll(/^export type (\w+Error)Code = (".*");$/gm);
  return Array.from(types, ([, error = "", union = ""]) => [error, union.match(/\w+/g)] as const);
});

/** The text of every file of the folders. */
const textsOf = (...folders: readonly string[]) => sourcesIn(...folders).map(textOf);

function found(texts: readonly string[], pattern: RegExp): readonly string[] {
  const names = texts.flatMap((text) =>
    Array.from(text.matchAll(pattern), ([, name = ""]) => name),
  );
  return [...new Set(names)].toSorted();
}

const codesOf = (error: string): readonly string[] =>
  ERROR_CODES.filter((row) => row.error === error)
    .map(({ code }) => code)
    .toSorted();

test("docs/errors.md has the codes of every class that lists its codes", () => {
  const errors = ["AlarmPayloadError", "ConfigurationError", "ManagementError"];
  expect(CODES.map(([error]) => error)).toEqual(errors);
  for (const [error, codes] of CODES) expect(codesOf(error), error).toEqual(codes?.toSorted());
});

test("docs/errors.md has every code that src/ and adapters/ give a GatewayWebhookError, and no other", () => {
  const made = found(
    textsOf("src", "adapters"),
    /(?:new GatewayWebhookError|super)\(\s*"([a-z0-9_]+)",/g,
  );
  const others = ERROR_CODES.map(({ code }) => code).filter((code) => made.includes(code));
  expect(made.length).toBeGreaterThan(20);
  expect(others.toSorted()).toEqual(made);
  expect(made).toEqual(expect.arrayContaining([...codesOf("GatewayWebhookError")]));
});

test("each error code has one class, a meaning, and usual causes that are one line each", () => {
  expect(new Set(ERROR_CODES.map(({ code }) => code)).size).toBe(ERROR_CODES.length);
  for (const { code, meaning, causes, where, entries } of ERROR_CODES) {
    expect(meaning, code).toMatch(/^[A-Z][^\n]*\.$/);
    expect(causes.length, code).toBeGreaterThan(0);
    for (const cause of causes) expect(cause, code).toMatch(/^[^\n]*[^.\n]$/);
    expect([where, entries], code).not.toContain("");
  }
});

test("retry_later is the only name that is an outcome and an error code", () => {
  expect(ERROR_CODES.filter(({ code }) => code in OUTCOMES).map(({ code }) => code)).toEqual([
    "retry_later",
  ]);
});

test("every class of errors that a user can meet is exported, has its name and extends GatewayWebhookError", () => {
  const exported: Readonly<Record<string, unknown>> = { ...core, ...inbox, ...management, ...kit };
  const declared = found(textsOf("src", "adapters", "kit"), /class (\w+)\s+extends \w*Error\b/g);
  const isOpen = (name: string): boolean => name in exported;
  // What engines store, what ends a case of the kit, and what the gateway on the desk answers.
  expect(declared.filter((name) => !isOpen(name))).toEqual([
    "ApiError",
    "JobFailure",
    "NotJudged",
    "ProbeError",
  ]);
  for (const name of declared.filter(isOpen)) {
    const { prototype } = exported[name] as { prototype: Error };
    expect(prototype.name).toBe(name);
    expect(prototype).toBeInstanceOf(core.GatewayWebhookError);
  }
  expect(ERROR_CODES.filter(({ error }) => !isOpen(error))).toEqual([]);
});

test("instanceof recognizes the errors of a second copy, and of a subclass only its own", () => {
  const copyOf = (error: Error): object => {
    const symbols = ["GatewayWebhookError", error.name].map((name) =>
      Symbol.for(`identity-gateway-webhooks.${name}`),
    );
    return Object.defineProperties(
      new Error(error.message),
      Object.fromEntries(symbols.map((symbol) => [symbol, { value: true }])),
    );
  };
  class Closed extends core.DiscardDelivery {}
  const foreign = copyOf(new core.RetryLater());
  expect(foreign).toBeInstanceOf(core.GatewayWebhookError);
  expect(foreign).toBeInstanceOf(core.RetryLater);
  expect(foreign).not.toBeInstanceOf(core.DiscardDelivery);
  expect(new core.DiscardDelivery()).not.toBeInstanceOf(Closed);
  expect(new Closed()).toBeInstanceOf(core.DiscardDelivery);
  expect(new Error("x")).not.toBeInstanceOf(core.GatewayWebhookError);
});
