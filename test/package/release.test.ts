import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  changelogProblem,
  contactProblem,
  exportedFiles,
  homepageProblem,
  sbomProblem,
  tarballProblem,
} from "../../release/checks.js";

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

test("a version needs a dated section at the top of the changelog", () => {
  const changelog = "# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-01)\n";
  expect(changelogProblem(changelog, "0.2.0")).toBeUndefined();
  expect(changelogProblem(changelog, "0.1.0")).toContain("newest section of CHANGELOG.md is 0.2.0");
  expect(changelogProblem("## 0.2.0 (unreleased)\n", "0.2.0")).toContain("put the date");
  expect(changelogProblem("## 0.2.0\n", "0.2.0")).toContain("put the date");
  expect(changelogProblem("## latest (2026-12-01)\n", "latest")).toBe("latest is not a version");
});

test("a SECURITY.md without the maintainers' address stops a release, and has one place for it", () => {
  const security = read("SECURITY.md");
  const places = security.match(/SECURITY-CONTACT-NOT-SET/g) ?? [];
  expect(places.length).toBeLessThanOrEqual(1);
  expect(contactProblem("Write to: **SECURITY-CONTACT-NOT-SET**")).toContain("no address");
  expect(contactProblem("Write to: security@example.com")).toBeUndefined();
});

test("the homepage, if there is one, is the address of a site and not of a README", () => {
  expect(homepageProblem(undefined)).toBeUndefined();
  expect(homepageProblem("https://docs.example.com/webhooks/")).toBeUndefined();
  expect(homepageProblem("https://git.example.com/a/b#readme")).toContain("#readme: set the https");
  expect(homepageProblem("http://docs.example.com/")).toContain("set the https address");
});

test("a tarball must have every exported file, nothing else than documented files, and a bounded size", () => {
  const files = ["dist/index.js", "dist/index.d.ts", "examples/node.ts", "README.md"];
  const tarball = (paths: readonly string[], size = 1) => ({
    size,
    files: paths.map((path) => ({ path })),
  });
  expect(tarballProblem(tarball(files), ["./dist/index.js"])).toBeUndefined();
  expect(tarballProblem(tarball(files), ["./dist/gone.js"])).toContain("lacks ./dist/gone.js");
  expect(tarballProblem(tarball(files, 850_001), [])).toContain("850001 bytes");
  for (const stray of ["src/index.ts", ".env", "test/a.js", "dist/index.js.map", "a.tgz"]) {
    expect(tarballProblem(tarball([...files, stray]), []), stray).toContain(stray);
  }
});

test("the exported files of package.json are found at every depth, without patterns", () => {
  const { exports, main, types, bin } = JSON.parse(read("package.json")) as Record<string, unknown>;
  const files = exportedFiles([exports, main, types, bin]);
  expect(files).toEqual(
    expect.arrayContaining(["./dist/index.js", "./dist/testing.d.cts", "./dist/cli.js"]),
  );
  expect(files.filter((file) => file.includes("*"))).toEqual([]);
});

test("a bill of materials without a dependency is refused", () => {
  const sbom = JSON.stringify({ components: [{ name: "zod" }] });
  expect(sbomProblem(sbom, ["zod"])).toBeUndefined();
  expect(sbomProblem(sbom, ["zod", "lru-cache"])).toContain("lacks lru-cache");
  expect(sbomProblem("{}", ["zod"])).toContain("lacks zod");
});
