import { createServer } from "node:http";
import { expect, test } from "vitest";
import { platformPage, platformTable, unitTestTable } from "../platforms/page.js";
import type { Platform, PlatformResult } from "../platforms/platform.js";
import { PROJECTS } from "../platforms/projects.js";
import {
  isWhole,
  readSelection,
  selectPlatforms,
  selectProjects,
  unitTestNodes,
} from "../platforms/selection.js";
import { complaintsOf, glueLines, reachabilityComplaints } from "../platforms/run-row.js";
import { startServer } from "../platforms/start-server.js";
import { failedTests } from "../platforms/unit-tests.js";
import { serving } from "../support/serving.js";

const platform = (changes: Partial<Platform> = {}): Platform => ({
  name: "Koa 3",
  folder: "koa",
  version: () => "3.0.1",
  code: "",
  start: () => Promise.reject(new Error("not started in this test")),
  ...changes,
});

const result = (changes: Partial<PlatformResult> = {}): PlatformResult => ({
  platform: platform(),
  version: "3.0.1",
  glueLines: 4,
  passed: 69,
  failed: 0,
  notJudged: 0,
  complaints: [],
  seconds: 2,
  ...changes,
});

const KOA = platform();
const FASTIFY = platform({ name: "Fastify 5", folder: "fastify" });
const KOA_10 = platform({ name: "Koa 10" });
const BUN = platform({ name: "Bun", folder: "bun" });
const ALL = [KOA, KOA_10, FASTIFY, BUN];

test("npm run platforms takes every row, by name, unless told otherwise", () => {
  const selection = readSelection([], () => new Date("2026-11-22T23:59:59Z"));
  expect(selection).toEqual({ only: undefined, isFast: false, date: "2026-11-22" });
  expect(isWhole(selection)).toBe(true);
  expect(selectPlatforms(ALL, selection)).toEqual([BUN, FASTIFY, KOA, KOA_10]);
});

test.each([
  ["--fast takes the runtimes that no other test reaches", ["--fast"], [BUN]],
  ["--only takes folders", ["--only", "koa"], [KOA, KOA_10]],
])("npm run platforms -- %s, and its result is not written", (_what, argv, rows) => {
  const selection = readSelection(argv);
  expect(isWhole(selection)).toBe(false);
  expect(selectPlatforms(ALL, selection)).toEqual(rows);
});

test("npm run platforms refuses a folder without rows, and names the others", () => {
  const selection = readSelection(["--only", "fastify,lambda"]);
  const names = ["bun", "fastify", "koa", "unit-tests", ...PROJECTS.map(({ folder }) => folder)];
  const message = `no rows in lambda; there are: ${names.sort().join(", ")}`;
  expect(() => selectPlatforms(ALL, selection)).toThrow(message);
});

test("projects that are compiled run by name, and not in the fast half", () => {
  const named = readSelection(["--only", "loaders,koa"]);
  expect(selectProjects(named).map(({ folder }) => folder)).toEqual(["loaders"]);
  expect(selectProjects(readSelection([]))).toEqual(PROJECTS);
  expect(selectProjects(readSelection(["--fast"]))).toEqual([]);
});

test("the unit tests run on every Node, on the newest in the fast half, and alone if asked for", () => {
  expect(unitTestNodes(readSelection([]))).toEqual([20, 22, 24, 26]);
  expect(unitTestNodes(readSelection(["--fast"]))).toEqual([26]);
  expect(unitTestNodes(readSelection(["--only", "koa"]))).toEqual([]);
  const alone = readSelection(["--only", "unit-tests"]);
  expect(unitTestNodes(alone)).toEqual([20, 22, 24, 26]);
  expect(selectPlatforms(ALL, alone)).toEqual([]);
});

test("a report of unit tests names each test that failed, and each file that did not load", () => {
  const assertionResults = [
    { fullName: "a delivery is handled once", status: "failed" },
    { fullName: "another is refused", status: "passed" },
  ];
  const testResults = [
    { name: "/a/once.test.ts", status: "failed", assertionResults },
    { name: "/a/broken.test.ts", status: "failed", assertionResults: [] },
    { name: "/a/fine.test.ts", status: "passed", assertionResults: [] },
  ];
  const named = ["once.test.ts: a delivery is handled once", "/a/broken.test.ts"];
  expect(failedTests({ testResults })).toEqual(named);
});

test.each([
  [["--all"], "--all"],
  [["koa"], "koa"],
  [["--date", "today"], "--date today is not like 2026-11-22"],
])("npm run platforms refuses the options %j", (argv, message) => {
  expect(() => readSelection(argv)).toThrow(message);
});

test("a case that a platform answers itself is no complaint, and every other one is", () => {
  const ownAnswers = { no_server_errors: "400 from its parser" };
  const results = [
    { id: "accepts", result: "passed" },
    { id: "no_server_errors", result: "failed", reason: "got 400" },
    { id: "slow_handler", result: "not_judged", reason: "no probe" },
  ] as const;
  expect(complaintsOf({ ownAnswers }, results)).toEqual(["slow_handler not judged: no probe"]);
  expect(complaintsOf({}, results)).toEqual([
    "no_server_errors failed: got 400",
    "slow_handler not judged: no probe",
  ]);
});

test("a platform's own answer that did not happen is a complaint", () => {
  const ownAnswers = { accepts: "400", renamed: "415" };
  expect(complaintsOf({ ownAnswers }, [{ id: "accepts", result: "passed" }])).toEqual([
    "ownAnswers has accepts, and that case passed",
    "ownAnswers has renamed, and there is no such case",
  ]);
});

test("a platform that runs no case does not pass", () => {
  expect(complaintsOf({}, [])).toEqual(["no case ran"]);
});

test("glue lines are the lines that hold code", () => {
  const code = `// A comment.
import { a } from "a"; // and one more

/**
 * A block.
 */
export default a({
  text: \`two
lines\`,
  pattern: /\\/\\*/,
});
`;
  expect(glueLines(code)).toBe(6);
  expect(glueLines("")).toBe(0);
  expect(glueLines("// nothing else\n")).toBe(0);
});

test("the table of platforms has a row each, with its own answers in the remark", () => {
  const own = { remark: "emulated", ownAnswers: { no_body: "400 | from its parser" } };
  expect(
    platformTable([
      result(),
      result({ platform: platform({ name: "Cloud Functions", ...own }), passed: 68, failed: 1 }),
      result({ platform: FASTIFY, version: "", passed: 0, complaints: ["it did not start"] }),
    ]),
  ).toBe(
    `| platform | version | glue lines | passed | failed | not judged | remark |
|---|---|--:|--:|--:|--:|---|
| Koa 3 | 3.0.1 | 4 | 69 | 0 | 0 |  |
| Cloud Functions | 3.0.1 | 4 | 68 | 1 | 0 | emulated; \`no_body\`: 400 \\| from its parser |
| Fastify 5 |  | 4 | 0 | 0 | 0 | **does not pass** |`,
  );
});

test("the table of unit tests has a row for each Node", () => {
  const unitTests = [{ version: "26.10.0", passed: 5_626, failed: 0, complaints: [] }];
  expect(unitTestTable(unitTests)).toBe(
    "| Node | unit tests passed | failed |\n|---|--:|--:|\n| 26.10.0 | 5626 | 0 |",
  );
});

test("test/platforms/results.md has the table and the date that the command was given", () => {
  const page = platformPage([result()], "2026-11-22");
  expect(page).toContain("on 2026-11-22");
  expect(page).toContain(platformTable([result()]));
});

test.each([
  ["is missing", { program: "/nowhere/node", args: () => [] }, "did not start"],
  ["ends at once", { args: () => ["-e", "console.log('no port'); process.exit(1)"] }, "no port"],
])("a platform whose program %s is reported", async (_how, server, message) => {
  await expect(startServer({ folder: "node", ...server }, "http://127.0.0.1:1/")).rejects.toThrow(
    message,
  );
});

test("a row whose URL answers GET or HEAD with anything but 200 does not pass", async () => {
  const url = await serving(
    createServer((req, res) => {
      const isMounted = req.method === "POST" || req.url === "/all";
      res.writeHead(isMounted ? 200 : 404).end();
    }),
  );
  expect(await reachabilityComplaints(`${url}all`)).toEqual([]);
  const complaints = ["GET is answered 404", "HEAD is answered 404"];
  expect(await reachabilityComplaints(`${url}post`)).toEqual(complaints);
});
