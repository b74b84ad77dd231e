import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd } from "../support/cli/cli-io.js";
import {
  installCli,
  startPartnerApp,
  type InstalledCli,
  type RunningProcess,
} from "../support/cli/cli-binary.js";
import { TEST_SECRET } from "../support/deliveries.js";

/** Accounts of the partner's test data, and those of the package's fixtures, as docs/test-endpoint.md says. */
const ACCOUNTS = [17, 18, 42, 4242];
const OF_ACCOUNTS = ["--account-id", "17", "--account-id", "18"];

let cli: InstalledCli;
let app: Awaited<ReturnType<typeof startPartnerApp>>;
const running: RunningProcess[] = [];

beforeAll(async () => {
  cli = installCli();
  app = await startPartnerApp(cli.folder, ACCOUNTS);
});

afterAll(() => {
  for (const { child } of running) child.kill("SIGKILL");
  app.stop();
  cli.remove();
});

function start(...argv: readonly string[]): RunningProcess {
  const started = cli.start(argv);
  running.push(started);
  return started;
}

/** Runs the binary to its end. Checks that it shows no secret, and no escape code in a pipe. */
function run(expected: Parameters<typeof expectEnd>[1], ...argv: readonly string[]) {
  const { child, stdout, stderr, ended } = start(...argv);
  child.stdin.end();
  const ending = Promise.all([ended, stdout, stderr]).then(([code, out, err]) => ({
    code: Number(code),
    stdout: out,
    stderr: err,
  }));
  const never = [/\u001b/, TEST_SECRET, ...[expected.never ?? []].flat()];
  return expectEnd(ending, { ...expected, never });
}

describe("against an app whose tables have a primary key and refer to accounts", () => {
  test("send: delivers alarms, an event and duplicates", async () => {
    const handled = { code: 0, stdout: /200 {2}handled/, stderr: "" };
    await run(handled, "send", app.url, "--event-type", "iban_hacked", ...OF_ACCOUNTS);
    const options = ["--json", ...OF_ACCOUNTS];
    const passed = { json: { passed: true } };
    await run(passed, "send", app.url, "--event", "DATA_REAPPEARED", ...options);
    // Node warns of a leak when more than ten listeners wait for Ctrl-C.
    const quiet = { stderr: "" };
    const atOnce = await run(quiet, "send", app.url, "--times", "12", "--concurrent", ...options);
    const { answers } = JSON.parse(atOnce.stdout) as { answers: { outcome: string }[] };
    expect(answers.filter(({ outcome }) => outcome === "handled")).toHaveLength(1);
    const acknowledged = { stdout: "✓ acknowledged: answered 200 at attempt 1" };
    await run(acknowledged, "send", app.url, "--follow-retries", ...OF_ACCOUNTS);
    const unknown = { code: 1, stdout: "name an account that it has: --account-id" };
    await run(unknown, "send", app.url);
  });

  test("doctor: nothing fails, also by the rows of the tables, and the JUnit report is well-formed XML", async () => {
    const handled = ["--handled", app.url.replace("webhooks/gateway", "handled/{id}")];
    const options = ["--junit", "doctor.xml", ...handled, ...OF_ACCOUNTS];
    const passed = { stdout: /✓ \d+ passed, 7 not judged/, stderr: "made-up deliveries" };
    await run({ code: 0, ...passed, never: "✗" }, "doctor", app.url, ...options);
    expect(readFileSync(path.join(cli.folder, "doctor.xml"), "utf8")).toContain('failures="0"');
  });
});

test("wrong usage exits 2 with one line; --version prints the package's version; a secret file is read", async () => {
  await run({ code: 2, stdout: "", stderr: /^.+\n$/ }, "send", "--tampr");
  await run({ stdout: /^\d+\.\d+\.\d+\n$/ }, "--version");
  writeFileSync(path.join(cli.folder, "queue.unknown"), "");
  const module = ["jobs", "list", "--module", "queue.unknown"];
  await run({ code: 2, stderr: "This Node runs no TypeScript: name a .mjs file" }, ...module);
  writeFileSync(path.join(cli.folder, "secret.txt"), `${TEST_SECRET}\n`);
  const { ended } = cli.start(["send", app.url, "--secret-file", "secret.txt", ...OF_ACCOUNTS], {
    GATEWAY_WEBHOOK_SECRET: "another",
  });
  expect(await ended).toBe(0);
});

test("a closed pipe ends the command without an error", async () => {
  const { url } = await answeringEndpoint({ status: 503 });
  const sender = start("send", url, "--follow-retries", "--speed", "1000");
  await sender.firstLine;
  sender.child.stdout.destroy();
  expect(await sender.ended).toBe(141);
  expect(await sender.stderr).toBe("");
});
