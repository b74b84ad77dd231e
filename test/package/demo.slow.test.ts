import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { demoRows, runDemo, type DemoRun } from "../support/package/demo-run.js";
import { fixturesFolder } from "../support/fixtures.js";
import { temporaryFolder } from "../support/temporary-folder.js";

let run: DemoRun;

beforeAll(async () => {
  run = await runDemo([]);
});

it("npm run demo writes escape codes with FORCE_COLOR, and the same text", async () => {
  const { code, stdout } = await runDemo([], { FORCE_COLOR: "1" });
  expect(code).toBe(0);
  expect(stdout).toContain("\u001b[32m✓\u001b[39m");
  expect(demoRows(stripVTControlCharacters(stdout))).toEqual(demoRows(run.stdout));
});

it("npm run demo needs no compiler and no other program on the PATH than Node", async () => {
  const bin = await mkdtemp(join(tmpdir(), "bin-"));
  await symlink(process.execPath, join(bin, "node"));
  const { code, stdout, stderr } = await runDemo([], { PATH: bin });
  await rm(bin, { recursive: true });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(demoRows(stdout)).toEqual(demoRows(run.stdout));
});

describe("npm run demo with a folder", () => {
  const folder = temporaryFolder();

  /** Copies one fixture to the folder and changes its text. */
  const addChanged = async (from: RegExp, to: string): Promise<void> => {
    const text = await readFile(join(fixturesFolder, "alarm-email-hacked.json"), "utf8");
    expect(text).toMatch(from);
    folder.write("alarm-email-hacked.json", text.replace(from, to));
  };

  it("npm run demo with a folder exits with 1 and shows the difference from a wrong expectation", async () => {
    await cp(fixturesFolder, folder.at(), { recursive: true });
    await addChanged(/"handled"/, '"duplicate"');

    const { code, stdout } = await runDemo([folder.at()]);

    expect(code).toBe(1);
    expect(demoRows(stdout).filter(([mark]) => mark !== "✓")).toEqual([
      ["✗", "Email address found in a breach", "signed and sent", "200", "handled"],
    ]);
    expect(stdout).toContain("\n  expected 200 duplicate\n");
    expect(stdout).toContain("the handler ran once instead of 0 times");
    expect(stdout).toContain("2 differences from what is expected");
  });

  it("npm run demo with a folder shows a fixture without an expectation as not judged", async () => {
    await addChanged(/"expect": {[^}]*},/, "");

    const { code, stdout } = await runDemo([folder.at()]);

    expect(code).toBe(0);
    expect(demoRows(stdout)[0]).toEqual([
      "–",
      "Email address found in a breach",
      "signed and sent",
      "200",
      "handled",
    ]);
    expect(stdout).toContain("1 not judged, the others answered as expected");
  });

  it("npm run demo with a folder exits with 2 and names the file and the unknown field", async () => {
    await addChanged(/"expect"/, '"expects"');

    expect(await runDemo([folder.at()])).toEqual({
      code: 2,
      stdout: "",
      stderr: `${folder.at("alarm-email-hacked.json")} is not a fixture: it must not have the unknown field expects\n`,
    });
  });
});

it("npm run demo -- --monitor shows the health while failures are planted and cured", async () => {
  const monitored = await runDemo(["--monitor"]);
  expect(monitored).toMatchObject({ code: 0, stderr: "" });
  const health = monitored.stdout.match(/(?<=^ {2}health: )\w+(?:, \w+)?/gm);
  expect(health).toEqual([
    "ok",
    "degraded, mismatch_ratio",
    "ok",
    "failing, stale",
    "ok",
    "failing, store_failing",
    "ok",
    "failing, handlers_failing",
    "ok",
    "degraded, unhandled_types",
  ]);
  expect(monitored.stdout).toContain('"lastAuthenticAt": "');
});
