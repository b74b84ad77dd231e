import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { describeService } from "../support/describe-service.js";

// vitest.config.ts leaves out the tests in `nestjs/` where the packages are missing.
for (const name of ["nest-10", "nest-11", "nest-12"]) {
  const folder = new URL(`../platforms/${name}/`, import.meta.url);
  const isInstalled = existsSync(new URL("node_modules/@nestjs/core/package.json", folder));
  const missing = isInstalled
    ? undefined
    : `${name} is not installed (npm install --no-save --prefix test/platforms/${name})`;

  describeService(`the packages of ${name}`, missing, () => {
    it(`the tests of the Nest module run with the packages of ${name}`, () => {
      expect(isInstalled).toBe(true);
    });
  });
}
