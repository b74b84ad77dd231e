import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  changelogProblem,
  contactProblem,
  exportedFiles,
  homepageProblem,
  sbomProblem,
  tarballProblem,
} from "../../release/checks.js";
import { TESTS } from "../mutation/rooms.js";
import { type VersionResult, peersTable, putPeersTable } from "../platforms/peers/page.js";
import type { Peer, Proof } from "../platforms/peers/project.js";
import type { RunResult } from "../run-report.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { textOf as read } from "../support/package/sources.js";

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
  const tarball = (paths: readonly string[], size = 1) => {
    return { size, files: paths.map((path) => ({ path })) };
  };
  expect(tarballProblem(tarball(files), ["./dist/index.js"])).toBeUndefined();
  expect(tarballProblem(tarball(files), ["./dist/gone.js"])).toContain("lacks ./dist/gone.js");
  expect(tarballProblem(tarball(files, 875_001), [])).toContain("875001 bytes");
  for (const stray of ["src/index.ts", ".env", "test/a.js", "dist/index.js.map", "a.tgz"]) {
    expect(tarballProblem(tarball([...files, stray]), []), stray).toContain(stray);
  }
});

test("the exported files of package.json are found at every depth, without patterns", () => {
  const { exports, main, types, bin } = JSON.parse(read("package.json")) as Record<string, unknown>;
  const files = exportedFiles([exports, main, types, bin]);
  const some = ["./dist/index.js", "./dist/testing.d.cts", "./dist/cli.js"];
  expect(files).toEqual(expect.arrayContaining(some));
  expect(files.filter((file) => file.includes("*"))).toEqual([]);
});

test("a bill of materials without a dependency is refused", () => {
  const sbom = JSON.stringify({ components: [{ name: "zod" }] });
  expect(sbomProblem(sbom, ["zod"])).toBeUndefined();
  expect(sbomProblem(sbom, ["zod", "lru-cache"])).toContain("lacks lru-cache");
  expect(sbomProblem("{}", ["zod"])).toContain("lacks zod");
});

const peer: Peer = { names: ["boss"], entry: "boss", receiver: "boss", oldest: "1.0.0" };
const handled: Proof = { result: "handled" };
const failed: Proof = { result: "failed", message: "" };
const refused: Proof = { result: "refused", message: "" };
const version = (name: string, on20: Proof, on26: Proof, minNode = 0): VersionResult => {
  const proofs = [
    { node: 20, proof: on20 },
    { node: 26, proof: on26 },
  ];
  return { version: name, minNode, proofs: proofs.map((one) => ({ installer: "npm", ...one })) };
};

const oldestOf = [version("1.0.0", handled, handled)];
const byPnpm = { node: 26, installer: "pnpm", proof: failed } as const;

test.each<[string, readonly VersionResult[], readonly string[], string]>([
  ["works everywhere", [version("2.1.0", handled, handled)], [], "1.0.0 | 2.1.0 | yes | yes |  |"],
  [
    "is made for later Nodes, and works there",
    [version("2.1.0", failed, handled, 22)],
    [],
    "1.0.0 | 2.1.0 | 1.0.0; 2.1.0 needs Node 22 | yes |",
  ],
  [
    "works on no Node that it is made for",
    [version("2.1.0", failed, failed)],
    ["boss 2.1.0 does not work on Node 20", "boss 2.1.0 does not work on Node 26"],
    "",
  ],
  [
    "works only by one of the installers",
    [version("2.1.0", handled, handled)].map(({ proofs, ...newest }) => {
      return { ...newest, proofs: [...proofs, byPnpm] };
    }),
    ["boss 2.1.0 does not work on Node 26"],
    "",
  ],
])("the newest version of a peer that %s has its complaints", (_, newest, wanted, line) => {
  const { text, complaints } = peersTable([{ peer, versions: [...oldestOf, ...newest] }]);
  expect(complaints).toEqual(wanted);
  expect(text).toContain(line);
});

test("a major before the oldest must be refused, and the table says that it is", () => {
  const bounded = { ...peer, oldest: "2.0.0" };
  const withOldest = (oldest: VersionResult) =>
    peersTable([{ peer: bounded, versions: [oldest, version("2.1.0", handled, handled)] }]);
  const good = withOldest(version("1.0.0", refused, refused));
  expect(good.complaints).toEqual([]);
  expect(good.text).toContain("| yes | yes | refused with `unsupported_version`: 1.0.0 |");
  const bad = withOldest(version("1.0.0", failed, failed));
  expect(bad.complaints).toEqual(["boss 1.0.0 is not refused"]);
});

test("the table takes the place of the one before", () => {
  const mark = "test/platforms/peers";
  const page = `before\n<!-- ${mark} -->\n\nstale\n\n<!-- /${mark} -->\nafter\n`;
  const made = putPeersTable(page, "| new |", "2026-11-24", "npm 11 and pnpm 12");
  expect(made).toContain("before\n<!-- test/platforms/peers -->\n\nTested on 2026-11-24.");
  expect(made).toContain("by npm 11 and pnpm 12");
  expect(made).toContain("| new |\n\n<!-- /test/platforms/peers -->\nafter\n");
  expect(made).not.toContain("stale");
  expect(() => putPeersTable("nothing", "", "", "")).toThrow("lacks");
});

const FILES = {
  "tests.ts": `
    import { beforeAll, describe, expect, test } from "vitest";
    test("passes", () => undefined);
    test.skip("is skipped", () => undefined);
    test("fails", () => { throw new Error("the test's own words"); });
    describe("a suite", () => {
      beforeAll(() => { throw new Error("the hook's own words"); });
      test("is never run", () => undefined);
    });`,
  "does-not-load.ts": `throw new Error("the file's own words");`,
  "rejects.ts": `
    import { test } from "vitest";
    test("ends before its promise", () => { void Promise.reject(new Error("the promise's own words")); });`,
  "config.ts": `
    import { RunReport } from ${JSON.stringify(path.join(REPOSITORY, "test/run-report.js"))};
    export default { test: { include: ["*s.ts", "*load.ts"], reporters: [new RunReport("result.json")] } };`,
};

let folder: string;
let result: RunResult;
beforeAll(async () => {
  // In the repository, so that it finds Vitest.
  const reports = path.join(REPOSITORY, "reports");
  mkdirSync(reports, { recursive: true });
  folder = mkdtempSync(path.join(reports, "run-report-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(folder, name), text);
  const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
  await new Promise((done) => {
    execFile(process.execPath, [vitest, "run", "--config", "config.ts"], { cwd: folder }, done);
  });
  const text = readFileSync(path.join(folder, "result.json"), "utf8");
  result = JSON.parse(text) as RunResult;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("the report of a run counts the passed tests, and not the skipped ones", () => {
  expect(result.passed).toBe(2);
});

test.each([
  ["a test", "tests.ts: fails", "the test's own words"],
  ["a hook, whose tests are not run", "tests.ts: a suite", "the hook's own words"],
  ["a file that does not load", "does-not-load.ts", "the file's own words"],
  ["a rejection that no test waits for", "outside of the tests", "the promise's own words"],
])(
  "a failure of %s is one failure of the report of a run, with its place and its error",
  (_, place, words) => {
    expect(result.failures).toHaveLength(4);
    const found = result.failures.filter((failure) => failure.split("\n")[0] === place);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(words);
  },
);

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
  const config = read("test/mutation/stryker.config.json");
  const { mutate } = JSON.parse(config) as { mutate: readonly string[] };
  const tests = Object.values(TESTS).flatMap((names) => names.split(","));
  const named = [...mutate, ...tests.map((name) => `test/${name}.test.ts`)];
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
  for (const room of Object.keys(TESTS)) {
    const ofRoom = mutate.filter((name) => new RegExp(`^src/${room}[./]`).test(name));
    expect(ofRoom, room).not.toEqual([]);
  }
});
