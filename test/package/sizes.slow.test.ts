import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { tarballProblem } from "../../release/checks.js";
import { installPackage, pack } from "../support/package/installed-package.js";

/** The bytes of all files below a folder. */
function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0);
}

test("the README says how large the tarball and the installed packages are", () => {
  const tarball = pack();
  const project = installPackage("module");
  const installed = (name: string): number =>
    bytesIn(path.join(project.folder, "node_modules", name));
  const [own, dependencies] = [
    installed("identity-gateway-webhooks"),
    installed("zod") + installed("lru-cache"),
  ];
  const packed = statSync(tarball).size;
  project.remove();

  expect(tarballProblem({ size: packed, files: [] }, [])).toBeUndefined();
  const [, kB, ownMB, dependenciesMB, percent] =
    /The tarball has (\d+) kB\. Installed it takes ([\d.]+) MB, and zod and lru-cache ([\d.]+) MB, (\d+) % of all/.exec(
      readFileSync("README.md", "utf8"),
    ) ?? [];
  const isNear = (said: string | undefined, bytes: number): void => {
    expect(Number(said)).toBeGreaterThan(0.93 * bytes);
    expect(Number(said)).toBeLessThan(1.07 * bytes);
  };
  isNear(kB, packed / 1_000);
  isNear(ownMB, own / 1_000_000);
  isNear(dependenciesMB, dependencies / 1_000_000);
  isNear(percent, (100 * dependencies) / (own + dependencies));
});
