import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

/** The functions that are called, by file. */
type Walk = Readonly<Record<string, readonly string[]>>;

describe("what a reader must follow", () => {
  let walks: { readonly delivery: Walk; readonly claim: Walk };

  beforeAll(async () => {
    const script = path.join(REPOSITORY, "test/support/walk/walk-process.ts");
    const env = {
      PATH: process.env["PATH"],
      // Maps the package's names to the sources, so that nothing has to be built.
      TSX_TSCONFIG_PATH: path.join(REPOSITORY, "examples/demo/tsconfig.sources.json"),
    };
    const args = ["--import", import.meta.resolve("tsx"), script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    walks = JSON.parse(stdout) as typeof walks;
  });

  it("one delivery through Express with an asynchronous handler passes at most 40 files and 120 functions", () => {
    const files = Object.keys(walks.delivery);
    expect(files).toContain("src/receiver.ts");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(40);
    expect(Object.values(walks.delivery).flat().length).toBeLessThanOrEqual(120);
  });

  it("one claim of postgresStore passes at most 9 files on its way to the client's query", () => {
    const files = Object.keys(walks.claim);
    expect(files).toContain("src/stores/postgres/query.ts");
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(9);
  });
});
