import { expect, test } from "vitest";
import { runCommand, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";

const FAST = ["--follow-retries", "--speed", "1000000"];

test("--follow-retries sends again until the delivery is acknowledged, and shows each attempt", async () => {
  const { url, seen } = await answeringEndpoint(
    { status: 503, body: '{"error":{"code":"RETRY_LATER"}}' },
    { status: 500 },
    { status: 200 },
  );
  const { code, stdout } = await runCommand(["send", url, ...FAST]);

  expect(code).toBe(0);
  expect(seen).toHaveLength(3);
  expect(stdout).toMatch(/1 {2}at once +503 {2}retry_later .*sends it again later/);
  expect(stdout).toMatch(/2 {2}after 10 s +500/);
  expect(stdout).toMatch(/3 {2}after 25 s +200 .*takes it as received/);
  expect(stdout).toContain(
    "~ acknowledged: answered 200 at attempt 3, by whom is not known, 35 s after the first",
  );
});

test("a final status ends --follow-retries, and the alarm is lost", async () => {
  const { url, seen } = await answeringEndpoint({ status: 503 }, { status: 401 });
  const { code, stdout } = await runCommand(["send", url, ...FAST]);

  expect(code).toBe(1);
  expect(seen).toHaveLength(2);
  expect(stdout).toMatch(/✗ given up: answered 401 at attempt 2.*the alarm is lost/);
});

test("--follow-retries gives up after ten attempts without an answer", async () => {
  const { code, stdout } = await runCommand(["send", await silentUrl(), ...FAST, "--json"]);
  const { attempts, end, passed } = JSON.parse(stdout) as {
    attempts: { waitedMs: number; result: string }[];
    end: string;
    passed: boolean;
  };

  expect({ code, end, passed }).toEqual({ code: 1, end: "exhausted", passed: false });
  expect(attempts).toHaveLength(10);
  expect(attempts.every(({ result }) => result === "network_error")).toBe(true);
  expect(attempts.at(-1)?.waitedMs).toBeGreaterThan(3 * 3_600_000);
});

test("an attempt without an answer is shown with its reason in place of a status", async () => {
  const { code, stdout } = await runCommand(["send", await silentUrl(), ...FAST]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/ 10 {2}after .* – .*ECONNREFUSED.*sends it again later/);
  expect(stdout).toContain("the alarm is lost");
});

test("--follow-retries works with --times and --wrong-secret", async () => {
  const { url, outcomes } = await receivingEndpoint("reject");
  const twice = await runCommand(["send", url, ...FAST, "--times", "2"]);
  const wrong = await runCommand(["send", url, ...FAST, "--wrong-secret"]);

  expect(twice.code).toBe(0);
  expect(twice.stdout).toMatch(/1\.1 .*handled[^]*1\.2 .*duplicate/);
  expect(wrong.code).toBe(0);
  expect(wrong.stdout).toContain("given up: answered 401");
  expect(outcomes()).toEqual(["handled", "duplicate", "signature_mismatch"]);
});

test.each([[[]], [["--times", "2"]]])(
  "a closed port proves nothing about a wrong secret: it is an error and exit code 1 %j",
  async (more) => {
    const argv = ["send", await silentUrl(), ...FAST, "--wrong-secret", ...more];
    const { code, stdout } = await runCommand(argv);
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ no answer came to attempt 10 \(.*ECONNREFUSED.*\), so nothing shows/);
    const json = await runCommand([...argv, "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ end: "exhausted", passed: false });
  },
);

test("a wrong secret that is refused until the attempts are used up passes", async () => {
  const { url, seen } = await answeringEndpoint({ status: 409 });
  const { code, stdout } = await runCommand(["send", url, ...FAST, "--wrong-secret"]);
  expect(code).toBe(0);
  expect(seen).toHaveLength(10);
  expect(stdout).toContain("✓ exhausted: answered 409 at attempt 10");
});

test("a wrong secret that is acknowledged is a failure", async () => {
  const { url } = await answeringEndpoint({ status: 200 });
  const { code, stdout } = await runCommand(["send", url, ...FAST, "--wrong-secret"]);
  expect(code).toBe(1);
  expect(stdout).toContain("✗ acknowledged: answered 200 at attempt 1");
});

test("a wrong secret that only a repeated request gets acknowledged is a failure, too", async () => {
  const { url } = await answeringEndpoint({ status: 401 }, { status: 200 });
  const argv = ["send", url, ...FAST, "--wrong-secret", "--times", "2"];
  const { code, stdout } = await runCommand(argv);
  expect(code).toBe(1);
  expect(stdout).toContain("✗ request 1.2 was acknowledged, although it must be refused");
});

test("Ctrl-C ends the wait for the next attempt", async () => {
  const { url, seen } = await answeringEndpoint({ status: 503 });
  const command = startCommand(["send", url, "--follow-retries", "--speed", "1"]);
  await command.says(/ 503 /);
  expect(await command.stop()).toBe(130);
  expect(seen).toHaveLength(1);
});

test("an outcome in an answer cannot control the terminal, also not in JSON", async () => {
  const body = '{"outcome":"\\u009b2J"}';
  const { url } = await answeringEndpoint({ status: 200, body });
  const { stdout } = await runCommand(["send", url, ...FAST, "--json"]);
  expect(stdout).toContain("\\u009b2J");
  expect(stdout).not.toContain("\u009b");
});
