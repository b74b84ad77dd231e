import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";
import { textOf } from "../support/package/sources.js";
import { temporaryFolder } from "../support/temporary-folder.js";

/** A row that `release/entries.ts` does not have. */
const MADE_UP = `{
    name: "foodb",
    file: "src/stores/foodb/index.ts",
    what: "a store in FooDB",
    engine: "foodb",
    peers: [{ names: ["foodb-client"], oldest: "1.2.0" }],
    plugs: [
      {
        kind: "lease",
        title: "FooDB",
        make: "fooStore({ client })",
        have: "several hosts and a FooDB",
        page: "docs/stores/foodb.md",
      },
    ],
  },`;
const TABLE = "release/entries.ts";
const LEFT_OUT = /(?:^|\/)(?:node_modules|dist|reports|coverage|\.git|\.stryker-tmp)(?:\/|$)/;

const folder = temporaryFolder(afterAll);
let asked: readonly (readonly [file: string, what: string])[];

beforeAll(() => {
  const copy = folder.at();
  cpSync(REPOSITORY, copy, {
    recursive: true,
    filter: (file) => !LEFT_OUT.test(path.relative(REPOSITORY, file)),
  });
  symlinkSync(path.join(REPOSITORY, "node_modules"), path.join(copy, "node_modules"));
  const table = path.join(copy, TABLE);
  const rows = readFileSync(table, "utf8");
  writeFileSync(table, rows.replace("...FRAMEWORKS,", `...FRAMEWORKS,\n  ${MADE_UP}`));
  // What `npm run check` runs.
  const args = ["--import", "tsx", "release/check-entries.ts"];
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: copy, encoding: "utf8" });
  expect(status).toBe(1);
  asked = stderr
    .trim()
    .split("\n")
    .map((line) => {
      const [file = "", what = ""] = line.split(": ");
      return [file, what] as const;
    });
});

const isOwn = ([file]: readonly [string, string]): boolean => file.includes("foodb");

test("for a new store npm run check asks for its code, its page, its contract, its receivers and its API report", () => {
  expect(asked.filter(isOwn)).toEqual([
    ["api/foodb.api.md", "run npm run generate"],
    ["docs/stores/foodb.md", "write the page of /foodb"],
    ["src/stores/foodb/index.ts", "write /foodb"],
    [
      "test/faults/receivers/setups/lease-foodb.ts",
      "open the store or the queue of a receiver under faults",
    ],
    [
      "test/platforms/peers/receivers/foodb.mjs",
      "write a receiver on foodb-client as a partner would",
    ],
    ["test/stores/foodb/contract.slow.test.ts", "run the contract of /foodb on its engine"],
  ]);
});

test("for a new store npm run check asks for seven files beside its own and the table, which CONTRIBUTING names", () => {
  const others = asked.filter((one) => !isOwn(one));
  expect(others).toEqual([
    ["README.md", "run npm run generate"],
    ["STABILITY.md", "run npm run platforms -- peers"],
    ["docs/stores.md", "compare FooDB with the others"],
    ["docs/stores.md", "run npm run generate"],
    ["package-lock.json", "run npm install"],
    ["package.json", "npm install --save-dev foodb-client"],
    ["package.json", "run npm run generate"],
    ["test/engines.ts", "say how the engine of /foodb starts"],
    ["test/faults/results.md", "run npm run faults"],
  ]);
  const files = new Set([TABLE, ...others.map(([file]) => file)]);
  expect(files.size).toBeLessThanOrEqual(8);
  const [, recipe = ""] = textOf("CONTRIBUTING.md").split("## A store, queue or framework more\n");
  for (const file of files) expect(recipe).toContain(`\`${file}\``);
});
