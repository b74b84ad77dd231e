import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { TESTS } from "../mutation/rooms.js";
import { REPOSITORY } from "../support/package/installed-package.js";

/** Whether a file fits a pattern whose last part may be `*`, or begin with it. */
function isThere(pattern: string): boolean {
  const [folder = "", ending = ""] = pattern.split(/\/(?:\*\*\/)?\*/);
  const place = path.join(REPOSITORY, folder);
  if (!pattern.includes("*")) return existsSync(place);
  return readdirSync(place, { recursive: true, encoding: "utf8" }).some((file) =>
    file.endsWith(ending),
  );
}

test("the files that the mutation run changes, and the tests that must notice it, exist", () => {
  const file = path.join(REPOSITORY, "test/mutation/stryker.config.json");
  const { mutate } = JSON.parse(readFileSync(file, "utf8")) as { mutate: readonly string[] };
  const tests = Object.values(TESTS).flatMap((names) => names.split(","));
  const named = [...mutate, ...tests.map((name) => `test/${name}.test.ts`)];
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
  for (const room of Object.keys(TESTS)) {
    const ofRoom = mutate.filter((name) => new RegExp(`^src/${room}[./]`).test(name));
    expect(ofRoom, room).not.toEqual([]);
  }
});
