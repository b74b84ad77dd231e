import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixtures, fixturesFolder } from "../support/fixtures.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the demo in a process of its own, with a pipe in place of a terminal. */
function runDemo(args: readonly string[] = [], colour: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const demo = ["--import", "tsx", "examples/demo/run.ts", ...args];
    const env = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, ...colour };
    const options = { cwd: root, env };
    execFile(process.execPath, demo, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, stdout, stderr });
    });
  });
}

/** Mark, delivery, what was done, status and outcome of each row. */
function rowsOf(stdout: string): string[][] {
  return stdout
    .split("\n")
    .filter((line) => /^[✓✗] .*[0-9]\.[0-9]$/.test(line))
    .map((line) => [line.slice(0, 1), ...line.slice(2).split(/ {2,}/).slice(0, 4)]);
}

let run: Run;

beforeAll(async () => {
  run = await runDemo();
});

describe("npm run demo", () => {
  it("exits with 0 and writes no error", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
  });

  it("delivers every fixture and shows the expected answer", () => {
    const shown = rowsOf(run.stdout).map(([mark, delivery, , status, outcome]) =>
      [mark, delivery, status, outcome].join(" | "),
    );
    const expected = fixtures.map(({ description, expect: { status, outcome } }) =>
      ["✓", description, status, outcome].join(" | "),
    );
    expect(expected.length).toBeGreaterThan(50);
    expect(shown.slice(0, expected.length).sort()).toEqual(expected.sort());
  });

  it("delivers copies, two of them at once, and again after the handler has failed", () => {
    expect(rowsOf(run.stdout).slice(fixtures.length)).toEqual([
      ["✓", "Alarm delivered twice", "signed and sent", "200", "handled"],
      ["✓", "Alarm delivered twice", "sent again", "200", "duplicate"],
      ["✓", "Two copies at the same time", "one of them", "200", "handled"],
      ["✓", "Two copies at the same time", "the other", "409", "in_flight"],
      ["✓", "Two copies at the same time", "sent again afterwards", "200", "duplicate"],
      ["✓", "Alarm whose handler fails once", "signed and sent", "500", "handler_failed"],
      ["✓", "Alarm whose handler fails once", "sent again by the gateway", "200", "handled"],
      ["✓", "Alarm whose handler fails once", "sent once more", "200", "duplicate"],
    ]);
  });

  it("ends with a summary", () => {
    const rows = rowsOf(run.stdout);
    const handled = rows.filter(([, , , , outcome]) => outcome === "handled").length;
    expect(run.stdout.trimEnd().split("\n").at(-1)).toMatch(
      new RegExp(`^${rows.length} deliveries in .* as expected: ${handled} handled once`),
    );
  });

  it("fits into 100 columns, with the columns aligned and nothing cut off", () => {
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

  it("writes no escape codes into a pipe", () => {
    expect(stripVTControlCharacters(run.stdout)).toBe(run.stdout);
  });

  it("writes them with FORCE_COLOR, and the same text", async () => {
    const { code, stdout } = await runDemo([], { FORCE_COLOR: "1" });
    expect(code).toBe(0);
    expect(stdout).toContain("\u001b[32m✓\u001b[39m");
    expect(rowsOf(stripVTControlCharacters(stdout))).toEqual(rowsOf(run.stdout));
  });
});

describe("npm run demo with a wrong expectation", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "fixtures-"));
    await cp(fixturesFolder, folder, { recursive: true });
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it("exits with 1 and shows what differs", async () => {
    const file = join(folder, "alarm-email-hacked.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"handled"', '"duplicate"'));

    const { code, stdout } = await runDemo([folder]);

    expect(code).toBe(1);
    expect(rowsOf(stdout).filter(([mark]) => mark === "✗")).toEqual([
      ["✗", "Email address found in a breach", "signed and sent", "200", "handled"],
    ]);
    expect(stdout).toContain("\n  expected 200 duplicate\n");
    expect(stdout).toContain("the handler ran once instead of 0 times");
    expect(stdout).toContain("2 differences from what is expected");
  });
});
