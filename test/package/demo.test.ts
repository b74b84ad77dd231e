import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";
import { demoRows, runDemo, type DemoRun } from "../support/package/demo-run.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { fixtures } from "../support/fixtures.js";

let run: DemoRun;

beforeAll(async () => {
  run = await runDemo([]);
});

it("npm run demo exits with 0 and writes no error", () => {
  expect(run).toMatchObject({ code: 0, stderr: "" });
});

it("npm run demo delivers every fixture and shows the expected answer", () => {
  const shown = demoRows(run.stdout).map(([mark, delivery, , status, outcome]) =>
    [mark, delivery, status, outcome].join(" | "),
  );
  const expected = fixtures.map(({ description, expect: { status, outcome } }) =>
    ["✓", description, status, outcome].join(" | "),
  );
  expect(expected.length).toBeGreaterThan(50);
  expect(shown.slice(0, expected.length).sort()).toEqual(expected.sort());
});

it("npm run demo signs genuine and stale fixtures anew, and leaves bad signatures unchanged", () => {
  const asRecorded = demoRows(run.stdout).filter(
    ([, , done]) => done === "sent as it was recorded",
  );
  expect(asRecorded.map(([, delivery]) => delivery).sort()).toEqual([
    "Body changed after signing",
    "Body's start moved into the id",
    "Id header sent twice",
    "No signature",
    "Signature one digit short",
    "Signed with another secret",
  ]);
  expect(run.stdout).toMatch(/^✓ Signed ten minutes ago +signed and sent +409 +stale /m);
});

it("npm run demo delivers duplicates, two of them at the same time, and a redelivery after the handler failed", () => {
  expect(demoRows(run.stdout).slice(fixtures.length, fixtures.length + 8)).toEqual([
    ["✓", "Alarm delivered twice", "signed and sent", "200", "handled"],
    ["✓", "Alarm delivered twice", "sent again", "200", "duplicate"],
    ["✓", "Twice at the same time", "one of them", "200", "handled"],
    ["✓", "Twice at the same time", "the other", "409", "in_flight"],
    ["✓", "Twice at the same time", "sent again afterwards", "200", "duplicate"],
    ["✓", "Alarm whose handler fails once", "signed and sent", "500", "handler_failed"],
    ["✓", "Alarm whose handler fails once", "sent again by the gateway", "200", "handled"],
    ["✓", "Alarm whose handler fails once", "sent once more", "200", "duplicate"],
  ]);
});

it("npm run demo delivers everything after six hours without a server", () => {
  expect(demoRows(run.stdout).slice(fixtures.length + 8, fixtures.length + 10)).toEqual([
    ["✓", "100 alarms", "9 attempts in 2 h 41 min", "–", "no answer"],
    ["✓", "100 alarms", "again after 6 h 39 min", "200", "handled"],
  ]);
});

it("npm run demo shows that 409 saves the alarm that a 401 loses", () => {
  expect(demoRows(run.stdout).slice(fixtures.length + 10)).toEqual([
    ["✓", 'Alarm, unverifiable: "retry"', "5 attempts in 4 min", "409", "signature_mismatch"],
    ["✓", 'Alarm, unverifiable: "retry"', "again after 10 min", "200", "handled"],
    ["✓", 'Alarm, unverifiable: "reject"', "signed and sent", "401", "signature_mismatch"],
  ]);
  expect(run.stdout.match(/^.*\blost: .*$/gm)).toEqual([
    "  1 lost: answered 401 at attempt 1: this status stops the gateway's retries",
  ]);
});

it("npm run demo ends with a summary", () => {
  // Three rows stand for several requests: 900, 100 and 5.
  const requests = demoRows(run.stdout).length + 899 + 99 + 4;
  const genuine = fixtures.filter(({ expect: { outcome } }) => outcome === "handled").length;
  expect(run.stdout.trimEnd().split("\n").at(-1)).toMatch(
    new RegExp(
      `^${requests} requests in [0-9.]+ s, each answered as expected: ` +
        `${genuine + 3 + 100 + 1} handled once, 1 lost, nothing else got in\\.$`,
    ),
  );
});

it("npm run demo fits into 100 columns, with aligned columns and no cut-off text", () => {
  const lines = run.stdout.split("\n");
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(run.stdout).not.toContain("…");
  const head = lines.find((line) => line.includes("What was done")) ?? "";
  const starts = ["Delivery", "What was done", "Status", "Outcome"].map((name) =>
    head.indexOf(name),
  );
  const rows = lines.filter((line) => /^[✓✗] /.test(line));
  for (const row of rows) {
    for (const start of starts) expect(row.slice(start - 2, start + 1)).toMatch(/^(. | {2})\S$/);
    expect(row).toHaveLength(head.length);
  }
});

it("npm run demo writes no escape codes into a pipe", () => {
  expect(stripVTControlCharacters(run.stdout)).toBe(run.stdout);
});

it("examples/demo/tsconfig.sources.json maps every import of the package to its source, so that the demo needs no build", async () => {
  const folder = join(REPOSITORY, "examples/demo");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".ts"));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const imported = texts.flatMap((text) =>
    Array.from(
      text.matchAll(/(?: from |import\()"(identity-gateway-webhooks[^"]*)"/g),
      ([, name]) => name,
    ),
  );
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const config = join(folder, "tsconfig.sources.json");
  const { options = {} } = ts.getParsedCommandLineOfConfigFile(config, {}, host) ?? {};
  const targetOf = (name = "") =>
    ts.resolveModuleName(name, config, options, ts.sys).resolvedModule?.resolvedFileName;
  const sources = expect.stringMatching(/(?:src|adapters|kit)\/.*(?<!\.d)\.ts$/) as string;
  expect(imported.length).toBeGreaterThan(10);
  for (const name of imported) expect(targetOf(name), name).toEqual(sources);
});
