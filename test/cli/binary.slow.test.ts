import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import {
  installCli,
  startPartnerApp,
  type InstalledCli,
  type RunningProcess,
} from "../support/cli/cli-binary.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtures } from "../support/fixtures.js";

/** Accounts of the partner's test data. */
const ACCOUNTS = [17, 18];
const OF_ACCOUNTS = ACCOUNTS.flatMap((id) => ["--account-id", String(id)]);
/** Those of the package's fixtures, as docs/testing.md says. */
const FIXTURE_ACCOUNTS = [42, 4242];

let cli: InstalledCli;
let app: Awaited<ReturnType<typeof startPartnerApp>>;
const running: RunningProcess[] = [];

beforeAll(async () => {
  cli = installCli();
  app = await startPartnerApp(cli.folder, [...ACCOUNTS, ...FIXTURE_ACCOUNTS]);
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
async function run(...argv: readonly string[]) {
  const { child, stdout, stderr, ended } = start(...argv);
  child.stdin.end();
  const result = { code: await ended, stdout: await stdout, stderr: await stderr };
  expect(result.stdout + result.stderr).not.toMatch(/\u001b/);
  expect(result.stdout + result.stderr).not.toContain(TEST_SECRET);
  return result;
}

async function listening(...argv: readonly string[]) {
  const started = start("listen", "--port", "0", "--json", ...argv);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { ...started, url };
}

describe("against an app whose tables have a primary key and refer to accounts", () => {
  test("send: delivers alarms, an event and duplicates, and is refused with a bad signature", async () => {
    for (const kind of ["email_hacked", "iban_hacked"]) {
      const sent = await run("send", app.url, "--event-type", kind, ...OF_ACCOUNTS);
      expect(sent.stdout).toMatch(/200 {2}handled/);
      expect(sent).toMatchObject({ code: 0, stderr: "" });
    }
    const options = ["--json", ...OF_ACCOUNTS];
    const event = await run("send", app.url, "--event", "DATA_REAPPEARED", ...options);
    expect(JSON.parse(event.stdout)).toMatchObject({ passed: true });
    const atOnce = await run("send", app.url, "--times", "12", "--concurrent", ...options);
    const { answers } = JSON.parse(atOnce.stdout) as { answers: { outcome: string }[] };
    expect(answers.filter(({ outcome }) => outcome === "handled")).toHaveLength(1);
    // Node warns of a leak when more than ten listeners wait for Ctrl-C.
    expect(atOnce.stderr).toBe("");
    for (const experiment of ["--tamper", "--stale=600", "--wrong-secret"]) {
      expect(await run("send", app.url, experiment)).toMatchObject({ code: 0 });
    }
    const retries = await run("send", app.url, "--follow-retries", ...OF_ACCOUNTS);
    expect(retries.stdout).toContain("✓ acknowledged: answered 200 at attempt 1");
    const lost = await run("send", `${app.url}/not-here`);
    expect(lost).toMatchObject({ code: 1 });
    expect(lost.stdout).toMatch(/404 .*gives it up for good/);
  });

  test("send: a delivery about an account that the tables do not know fails with the option to use", async () => {
    const { code, stdout } = await run("send", app.url);
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("name an account that it has: --account-id");
  });

  test("replay: every fixture of the package is answered as expected, also the second time", async () => {
    const folder = "node_modules/identity-gateway-webhooks/fixtures";
    for (let times = 0; times < 2; times += 1) {
      const { code, stdout } = await run("replay", folder, "--to", app.url);
      expect(stdout).toContain(`✓ ${String(fixtures.length)} as expected`);
      expect(code).toBe(0);
    }
  });

  test("doctor: nothing fails, also by the rows of the tables, and the JUnit report is well-formed XML", async () => {
    const handled = ["--handled", app.url.replace("webhooks/gateway", "handled/{id}")];
    const options = ["--junit", "doctor.xml", ...handled, ...OF_ACCOUNTS];
    const { code, stdout, stderr } = await run("doctor", app.url, ...options);
    expect(stdout).toMatch(/✓ \d+ passed, 6 not judged/);
    expect(stdout).not.toContain("✗");
    expect(stderr).toContain("made-up deliveries");
    expect(code).toBe(0);
    expect(readFileSync(path.join(cli.folder, "doctor.xml"), "utf8")).toContain('failures="0"');
  });

  test("listen: forwards to the app and records; replay sends the recordings, also the second time", async () => {
    const kept = ["alarm", "event"].flatMap((key) => ["--keep-values", `${key}.account_id`]);
    const listener = await listening("--record", "recorded", "--forward", app.url, ...kept);
    for (const made of [[], [], ["--event", "DATA_DELETED"]]) {
      const sent = await run("send", listener.url, ...made, ...OF_ACCOUNTS);
      expect(sent.stdout).toMatch(/200 {2}handled/);
    }
    // The listener answers first and then looks for the cause, which takes a busy machine a while.
    const explained = listener.lineWith("signature_mismatch");
    expect((await run("send", listener.url, "--tamper")).code).toBe(0);
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
      const replayed = await run("replay", "recorded", "--to", app.url);
      expect(replayed.stdout).toContain("✓ 3 as expected");
    }
  });

  test("explain: reads a fixture and standard input", async () => {
    const fixture = "node_modules/identity-gateway-webhooks/fixtures/alarm-email-hacked.json";
    expect(await run("explain", fixture)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^✓ The signature is good, and the delivery fresh\.\n +A receiver with a handler for it answers 200 handled\.\n/,
      ) as string,
    });
    const piped = start("explain", "--json");
    piped.child.stdin.end(
      readFileSync(path.join(cli.folder, fixture), "utf8").replace('}}"\n', '}}\\n"\n'),
    );
    expect(await piped.ended).toBe(1);
    const { findings } = JSON.parse(await piped.stdout) as { findings: { code: string }[] };
    expect(findings.map(({ code }) => code)).toContain("body_trailing_newline");
  });
});

test("wrong usage exits 2 with one line; --version prints the package's version; a secret file is read", async () => {
  const wrong = await run("send", "--tampr");
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr.trim().split("\n")).toHaveLength(1);
  expect((await run("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  writeFileSync(path.join(cli.folder, "secret.txt"), `${TEST_SECRET}\n`);
  const { ended } = cli.start(["send", app.url, "--secret-file", "secret.txt", ...OF_ACCOUNTS], {
    GATEWAY_WEBHOOK_SECRET: "another",
  });
  expect(await ended).toBe(0);
});

describe("signals and pipes", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends listen and frees its port at once", async (signal, code) => {
    const listener = await listening();
    listener.child.kill(signal);
    expect(await listener.ended).toBe(code);
    const server = http.createServer().listen(Number(new URL(listener.url).port), "127.0.0.1");
    await once(server, "listening");
    server.close();
  });

  test("SIGINT ends the wait for an answer, and the report shows the finished cases", async () => {
    const hanging = http.createServer(() => undefined).listen(0, "127.0.0.1");
    await once(hanging, "listening");
    const { port } = hanging.address() as { port: number };
    const sender = start("send", `http://127.0.0.1:${String(port)}/`);
    await once(hanging, "request");
    sender.child.kill("SIGINT");
    expect(await sender.ended).toBe(130);
    expect(await sender.stderr).toBe("");
    hanging.closeAllConnections();
    hanging.close();
  });

  test("a closed pipe ends the command without an error", async () => {
    const { url } = await answeringEndpoint({ status: 503 });
    const sender = start("send", url, "--follow-retries", "--speed", "1000");
    await sender.firstLine;
    sender.child.stdout.destroy();
    expect(await sender.ended).toBe(141);
    expect(await sender.stderr).toBe("");
  });

  test("the output can be piped into head, with nothing on standard error", () => {
    const script = `"${cli.binary}" send --help | head -1`;
    const stdout = execFileSync("sh", ["-c", script], { encoding: "utf8", stdio: "pipe" });
    expect(stdout).toBe("identity-gateway-webhooks send\n");
  });
});
