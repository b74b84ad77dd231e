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
import { fixtures } from "../support/fixtures.js";

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

async function listening(...argv: readonly string[]) {
  const started = start("listen", "--port", "0", "--json", ...argv);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { ...started, url };
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

  test("replay: every fixture of the package is answered as expected, also the second time", async () => {
    const folder = "node_modules/identity-gateway-webhooks/fixtures";
    const all = { code: 0, stdout: `✓ ${String(fixtures.length)} as expected` };
    for (let times = 0; times < 2; times += 1) await run(all, "replay", folder, "--to", app.url);
  });

  test("doctor: nothing fails, also by the rows of the tables, and the JUnit report is well-formed XML", async () => {
    const handled = ["--handled", app.url.replace("webhooks/gateway", "handled/{id}")];
    const options = ["--junit", "doctor.xml", ...handled, ...OF_ACCOUNTS];
    const passed = { stdout: /✓ \d+ passed, 6 not judged/, stderr: "made-up deliveries" };
    await run({ code: 0, ...passed, never: "✗" }, "doctor", app.url, ...options);
    expect(readFileSync(path.join(cli.folder, "doctor.xml"), "utf8")).toContain('failures="0"');
  });

  test("listen: forwards to the app and records; replay sends the recordings, also the second time", async () => {
    const kept = ["alarm", "event"].flatMap((key) => ["--keep-values", `${key}.account_id`]);
    const listener = await listening("--record", "recorded", "--forward", app.url, ...kept);
    for (const made of [[], [], ["--event", "DATA_DELETED"]]) {
      await run({ stdout: /200 {2}handled/ }, "send", listener.url, ...made, ...OF_ACCOUNTS);
    }
    // The listener answers first and then looks for the cause, which takes a busy machine a while.
    const explained = listener.lineWith("signature_mismatch");
    await run({ code: 0 }, "send", listener.url, "--tamper");
    await explained;
    listener.child.kill("SIGINT");

    expect(await listener.ended).toBe(130);
    const events = (await listener.stdout).trim().split("\n");
    expect(events.map((line) => JSON.parse(line) as object)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ outcome: "authentic", status: 200 }),
        expect.objectContaining({ outcome: "signature_mismatch", status: 409 }),
        expect.objectContaining({ event: "recorded" }),
      ]),
    );
    for (let times = 0; times < 2; times += 1) {
      await run({ stdout: "✓ 3 as expected" }, "replay", "recorded", "--to", app.url);
    }
  });

  test("explain: reads standard input", async () => {
    const fixture = readFileSync("fixtures/alarm-email-hacked.json", "utf8");
    const piped = start("explain", "--json");
    piped.child.stdin.end(fixture.replace('}}"\n', '}}\\n"\n'));
    expect(await piped.ended).toBe(1);
    expect(await piped.stdout).toContain('"body_trailing_newline"');
  });
});

test("wrong usage exits 2 with one line; --version prints the package's version; a secret file is read", async () => {
  await run({ code: 2, stdout: "", stderr: /^.+\n$/ }, "send", "--tampr");
  await run({ stdout: /^\d+\.\d+\.\d+\n$/ }, "--version");
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
