import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import * as awsLambda from "../../adapters/aws-lambda/index.js";
import * as bullmq from "../../src/inbox/bullmq/index.js";
import * as inbox from "../../src/inbox/index.js";
import * as pgBoss from "../../src/inbox/pg-boss/index.js";
import * as core from "../../src/index.js";
import * as management from "../../src/management/index.js";
import * as mysql from "../../src/stores/mysql/index.js";
import * as cloudflare from "../../src/stores/cloudflare/index.js";
import * as postgres from "../../src/stores/postgres/index.js";
import * as redis from "../../src/stores/redis/index.js";
import * as sqlite from "../../src/stores/sqlite/index.js";
import * as kit from "../../kit/index.js";
import { errorsPage } from "../../docs/errors-page.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { ERROR_CAUSES, ERROR_CODES } from "../../cli/errors/error-table.js";
import { REPOSITORY } from "../support/package/installed-package.js";

type ErrorClass = abstract new (...args: never[]) => Error;

const ENTRIES: Readonly<Record<string, object>> = {
  "the package itself": core,
  "…/aws-lambda": awsLambda,
  "…/redis": redis,
  "…/postgres": postgres,
  "…/mysql": mysql,
  "…/sqlite": sqlite,
  "…/cloudflare": cloudflare,
  "…/inbox": inbox,
  "…/pg-boss": pgBoss,
  "…/bullmq": bullmq,
  "…/management": management,
};

/** The codes of classes with one code per cause. */
const CODES: Readonly<Record<string, readonly string[]>> = {
  AlarmPayloadError: Object.keys({
    empty_payload: 1,
    invalid_json: 1,
    schema_mismatch: 1,
    async_schema: 1,
  } satisfies Record<core.AlarmPayloadErrorCode, 1>),
  ConfigurationError: Object.keys({
    invalid_options: 1,
    unknown_option: 1,
    missing_secret: 1,
    unusable_secret: 1,
    conflicting_secret: 1,
    missing_handlers: 1,
    unknown_handler: 1,
    invalid_handler: 1,
    duplicate_handler: 1,
    invalid_option: 1,
    invalid_store: 1,
    invalid_receiver: 1,
    unsupported_platform: 1,
    unsupported_version: 1,
  } satisfies Record<core.ConfigurationErrorCode, 1>),
  ManagementError: Object.keys({
    no_token: 1,
    unauthorized: 1,
    forbidden: 1,
    not_found: 1,
    conflict: 1,
    validation_failed: 1,
    throttled: 1,
    server_error: 1,
    unexpected_answer: 1,
    incomplete_list: 1,
    network: 1,
    timeout: 1,
    aborted: 1,
    secret_required: 1,
    update_not_applied: 1,
  } satisfies Record<management.ManagementErrorCode, 1>),
  InvalidValueError: Object.keys({
    invalid_gateway_time: 1,
    invalid_delivery_id: 1,
    invalid_timestamp: 1,
  } satisfies Record<core.InvalidValueErrorCode, 1>),
};

function errorsOf(entry: object): readonly ErrorClass[] {
  const values: readonly unknown[] = Object.values(entry);
  return values.filter(
    (value): value is ErrorClass => typeof value === "function" && value.prototype instanceof Error,
  );
}

/** The code of an instance, with any constructor arguments. */
function codeOf(errorClass: ErrorClass): unknown {
  const error = Reflect.construct(errorClass, ["code", {}, []]) as Error & { code?: unknown };
  expect(error.name).toBe(errorClass.name);
  return error.code;
}

test("the table of errors lists every exported error with its codes and where it is exported", () => {
  const written = Object.entries(ERROR_CAUSES).map(([name, { exportedBy, codes }]) => [
    name,
    [...exportedBy],
    Object.keys(codes),
  ]);
  const exported = new Map<ErrorClass, string[]>();
  for (const [name, entry] of Object.entries(ENTRIES)) {
    for (const errorClass of errorsOf(entry)) {
      exported.set(errorClass, [...(exported.get(errorClass) ?? []), name]);
    }
  }
  const actual = Array.from(exported, ([errorClass, entries]) => [
    errorClass.name,
    entries,
    CODES[errorClass.name] ?? [codeOf(errorClass)],
  ]);
  const byName = (rows: unknown[][]) =>
    rows.sort(([one], [other]) => String(one).localeCompare(String(other)));
  expect(byName(written)).toEqual(byName(actual));
});

test("docs/errors.md equals the page made from the table of errors; npm run generate writes it", () => {
  expect(readFileSync(path.join(REPOSITORY, "docs/errors.md"), "utf8")).toBe(errorsPage());
});

test("each error code has one class, a meaning, and usual causes that are one line each", () => {
  expect(new Set(ERROR_CODES.map(({ code }) => code)).size).toBe(ERROR_CODES.length);
  for (const { code, meaning, causes } of ERROR_CODES) {
    expect(meaning, code).toMatch(/^[A-Z][^\n]*\.$/);
    expect(causes.length, code).toBeGreaterThan(0);
    for (const cause of causes) expect(cause, code).toMatch(/^[^\n]*[^.\n]$/);
  }
});

test("retry_later is the only name that is an outcome and an error code", () => {
  expect(ERROR_CODES.filter(({ code }) => code in OUTCOMES).map(({ code }) => code)).toEqual([
    "retry_later",
  ]);
});

test("every error of the testing kit has a code", () => {
  for (const errorClass of errorsOf(kit)) expect(codeOf(errorClass)).toEqual(expect.any(String));
});

test("every error class of the library is exported", () => {
  const files = ["src", "kit"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => path.join(folder, file)),
  );
  const declared = files.flatMap((file) => {
    const text = readFileSync(path.join(REPOSITORY, file), "utf8");
    return Array.from(text.matchAll(/class (\w+) extends \w*Error\b/g), ([, name]) => name);
  });
  const exported = [...Object.values(ENTRIES), kit].flatMap(errorsOf).map(({ name }) => name);
  // ApiError never leaves the gateway on the desk, NotJudged the conformance suite.
  expect(
    declared.filter((name) => name !== undefined && !exported.includes(name)).toSorted(),
  ).toEqual(["ApiError", "NotJudged"]);
});
