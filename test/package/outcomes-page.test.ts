import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { outcomesPage } from "../../docs/outcomes-page.js";
import { REPOSITORY } from "../support/package/installed-package.js";

test("docs/outcomes.md equals the page made from the table of outcomes; npm run generate writes it", () => {
  const written = readFileSync(path.join(REPOSITORY, "docs/outcomes.md"), "utf8");
  expect(written).toBe(outcomesPage());
});
