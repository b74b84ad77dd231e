import { readdirSync } from "node:fs";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type RedisClientType, createClient } from "redis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { UsageError, readCommand } from "../../examples/demo/command-line.js";
import { fixturesFolder } from "../support/fixtures.js";
import { type DemoRun, demoRows, runDemo } from "../support/package/demo-run.js";
import { describeRedis } from "../support/redis/redis-describe.js";
import { type RedisServer, startRedisServer } from "../support/redis/redis-server.js";
import { temporaryFolder } from "../support/temporary-folder.js";

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
  expect(demoRows(stdout)[0]?.slice(0, 2)).toEqual(["–", "Email address found in a breach"]);
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

const CUT_OFF = "Alarm cut off in its handler";

/**
 * The rows except those that the lease refuses. There are none if the new process took longer to
 * start.
 */
function rowsOf({ stdout }: DemoRun): string[][] {
  return demoRows(stdout).filter(([, , done]) => !done?.endsWith("within its lease"));
}

function expectRestart(run: DemoRun, storeName: string): void {
  expect(run, run.stdout).toMatchObject({ code: 0, stderr: "" });
  expect(run.stdout).toMatch(/^\nThe gateway delivers to http:\S+:\d+\/webhooks\/gateway\n/);
  expect(run.stdout).toContain(`\nThe receiver remembers in ${storeName}\n`);
  expect(rowsOf(run)).toEqual([
    ["✓", "Alarm", "signed and sent", "200", "handled"],
    ["✓", "Alarm", "sent again", "200", "duplicate"],
    ["✓", "100 alarms", "signed and sent", "200", "handled"],
    ["✓", CUT_OFF, "receiver killed (SIGKILL)", "–", "no answer"],
    ["✓", "Alarm", "sent again", "200", "duplicate"],
    ["✓", "100 alarms", "sent again", "200", "duplicate"],
    ["✓", CUT_OFF, "sent again after its lease", "200", "handled"],
    ["✓", CUT_OFF, "sent once more", "200", "duplicate"],
    ["✓", "New alarm", "signed and sent", "200", "handled"],
  ]);
  expect(run.stdout).toContain("a file beside the store: 103 effects of 103 alarms.\n");
  expect(run.stdout.trimEnd().split("\n").at(-1)).toMatch(
    /^\d+ requests in .*: 103 handled once, 0 lost, nothing else got in\.$/,
  );
  expect(run.stdout.split("\n").filter((line) => line.length > 100)).toEqual([]);
  expect(run.stdout).not.toContain("…");
}

it("npm run demo -- --store sqlite kills the receiver, starts it again, and a redelivery is a duplicate", async () => {
  const run = await runDemo(["--store", "sqlite"], { TMPDIR: folder.at() });
  const left = readdirSync(folder.at()).filter((name) => name.startsWith("gateway-demo-"));

  expectRestart(run, "an SQLite file");
  expect(left).toEqual([]);
});

describeRedis("npm run demo -- --store redis", () => {
  let server: RedisServer;
  let client: RedisClientType;

  beforeAll(async () => {
    server = await startRedisServer();
    client = createClient({ url: server.url });
    await client.connect();
  });
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  it("npm run demo -- --store redis handles each alarm once after a restart, and leaves nothing on the server", async () => {
    const run = await runDemo(["--store", "redis", "--url", server.url]);
    expectRestart(run, `Redis at 127.0.0.1:${server.port}`);
    expect(await client.dbSize()).toBe(0);
  });
});

it.each([
  ["--store redis", "--store redis needs a server: add --url redis://…, or set REDIS_URL"],
  ["--store toString", "--store is one of sqlite, redis"],
  ["--store sqlite --url a", "--store sqlite takes no --url: the demo makes a file of its own"],
  ["--url redis://localhost", "--url goes with --store redis"],
  ["--store sqlite fixtures", "--store sends alarms of its own: leave the folder out"],
  ["--monitor --store sqlite", "--monitor goes with no store and no folder"],
  ["fixtures others", "one folder of fixtures at a time"],
])("the demo's command line says what to change in %s", (args, message) => {
  expect(() => readCommand(args.split(" "), {})).toThrow(new UsageError(message));
});

it("the demo's command line refuses an unknown option", () => {
  expect(() => readCommand(["--shop", "sqlite"], {})).toThrow(UsageError);
});

it.each([
  ["--store redis --url redis://given", { show: "restart", store: "redis", url: "redis://given" }],
  ["--store redis", { show: "restart", store: "redis", url: "redis://variable" }],
  ["some/folder", { show: "fixtures", folder: "some/folder" }],
])("the demo's command line reads %s, and --url before the variable", (args, command) => {
  const env = { REDIS_URL: "redis://variable" };
  expect(readCommand(args.split(" "), env)).toEqual(command);
});

it("the demo's command line exits with 2 and one line without the password if Redis cannot be reached", async () => {
  const url = "redis://user:synthetic-password@127.0.0.1:1";
  const { code, stdout, stderr } = await runDemo(["--store", "redis", "--url", url]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(
    /^Redis at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED [\d.:]+\n$/,
  );
});
