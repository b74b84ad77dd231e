import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { probeRepeatedTimestamp } from "../../cli/doctor/repeated-timestamp.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

interface DoctorDocument {
  readonly passed: boolean;
  readonly repeatedTimestamp?: { readonly refusedFrom: unknown };
  readonly cases: readonly {
    readonly id: string;
    readonly level: string;
    readonly result: string;
    readonly reason?: string;
    readonly why?: string;
    readonly fix?: string;
    readonly exchanges?: readonly { sent: string; received: string }[];
  }[];
}

async function doctorJson(...argv: readonly string[]) {
  const { code, stdout, stderr } = await runCommand(["doctor", ...argv, "--json"]);
  return { code, stderr, ...(JSON.parse(stdout) as DoctorDocument) };
}

test("our own receiver passes doctor, and with --handled fewer cases are unjudged", async () => {
  const { url } = await receivingEndpoint();
  const probe = `${new URL(url).origin}/handled/{id}`;
  const without = await doctorJson(url);
  const probed = await doctorJson(url, "--handled", probe);

  expect(without).toMatchObject({ code: 0, passed: true });
  expect(probed).toMatchObject({ code: 0, passed: true });
  const unjudged = ({ cases }: DoctorDocument) =>
    cases.filter(({ result }) => result === "not_judged").length;
  expect(unjudged(probed)).toBeLessThan(unjudged(without));
  expect(probed.cases.length).toBeGreaterThan(50);
  expect(without.stderr).toContain("made-up deliveries");
});

test("doctor shows that a receiver that answers 401 loses alarms, why, and how to fix it", async () => {
  const { url } = await receivingEndpoint("reject");
  const junit = folder.at("reject.xml");
  const { code, stdout } = await runCommand(`doctor ${url} --junit ${junit}`);

  expect(code).toBe(1);
  expect(stdout).toMatch(/retries\n[^]*✗ a delivery signed with another secret .*\(must, /);
  expect(stdout).toMatch(/ sent +POST; .*X-Webhook-Type/);
  expect(stdout).toMatch(/ received +401 /);
  expect(stdout).toMatch(/ why +\S/);
  expect(stdout).toMatch(/ fix +\S/);
  expect(stdout).toMatch(/✗ \d+ passed, \d+ failed that must pass/);
  expect(stdout).not.toContain(TEST_SECRET);
  expect(stdout).not.toMatch(/v1=[0-9a-f]{6}/);
  const xml = readFileSync(junit, "utf8");
  expect(xml).toMatch(/<failure message="[^"]+" type="given_up">sent: POST; /);
  expect(xml).not.toContain(TEST_SECRET);
});

describe("doctor, about a gateway that repeats its first timestamp,", () => {
  test("says which retries our receiver refuses, and which option to set", async () => {
    const { url } = await receivingEndpoint();
    const { code, stdout } = await runCommand(`doctor ${url}`);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /first timestamp\n {2}– its retries are refused from attempt 6 on, 10 min 27 s after the first\n {6}note .*raise\s+timestampToleranceMs/s,
    );
    const json = await doctorJson(url);
    expect(json.repeatedTimestamp?.refusedFrom).toMatchObject({ attempt: 6 });
  });

  test("says that all retries are accepted when the tolerance is raised", async () => {
    const endpoint = await receivingEndpoint("retry", 7 * 86_400_000);
    const { code, stdout } = await runCommand(`doctor ${endpoint.url}`);
    // A raised tolerance fails a `should`, on purpose.
    expect(code).toBe(0);
    expect(stdout).toContain(
      "– its retries are accepted up to the last, 6 h 39 min after the first",
    );
    expect(stdout).toMatch(/2 failed that should/);
    expect((await doctorJson(endpoint.url)).repeatedTimestamp?.refusedFrom).toBeNull();
  });

  test("says nothing when fresh deliveries are refused too, or with --only", async () => {
    const { url } = await answeringEndpoint({ status: 409 });
    expect(await doctorJson(url)).not.toHaveProperty("repeatedTimestamp");
    const ours = await receivingEndpoint();
    const { stdout } = await runCommand(`doctor ${ours.url} --only alarm`);
    expect(stdout).not.toContain("first timestamp");
  });

  test("says nothing about an endpoint that starts to refuse everything", async () => {
    const { url, seen } = await answeringEndpoint({ status: 200 }, { status: 409 });
    const { signal } = new AbortController();
    const endpoint = {
      url: new URL(url),
      secret: TEST_SECRET,
      types: ["new_alarm"] as const,
      accountIds: [],
      connection: {},
    };
    expect(await probeRepeatedTimestamp(endpoint, signal)).toBeUndefined();
    expect(seen).toHaveLength(3);
  });
});

test("doctor --only and --skip choose cases by their ids", async () => {
  const { url } = await receivingEndpoint();
  const all = await doctorJson(url, "--only", "alarm", "--only", "event", "--skip", "event");
  expect(all.cases.map(({ id }) => id)).toEqual(["alarm"]);
  const unknown = await runCommand(`doctor ${url} --only alarmm`);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("the nearest are alarm,");
  expect((await runCommand(`doctor ${url} --only alarm --skip alarm`)).code).toBe(2);
});

test("a failed case that should pass fails doctor only with --strict", async () => {
  const { url } = await answeringEndpoint({ status: 204 });
  const ids = (await doctorJson(url)).cases
    .filter(({ level, result }) => level === "should" && result === "failed")
    .map(({ id }) => id);
  expect(ids).not.toEqual([]);
  // A run in which nothing passed is not green, so one case that passes goes with them.
  const only = ["alarm", ...ids].flatMap((id) => ["--only", id]);
  const junit = folder.at("should.xml");

  const lax = await runCommand(["doctor", url, ...only, "--junit", junit]);
  expect(lax.code).toBe(0);
  expect(lax.stdout).toContain(`${String(ids.length)} failed that should`);
  expect(readFileSync(junit, "utf8")).toContain('failures="0"');
  expect((await runCommand(["doctor", url, ...only, "--strict"])).code).toBe(1);
});

test("doctor shortens a signature so that it cannot be used", async () => {
  const { url } = await answeringEndpoint({ status: 200 });
  const long = await runCommand(`doctor ${url} --only wrong_secret`);
  expect(long.stdout).toMatch(/X-Webhook-Signature:\s+v1=[0-9a-f]{5}…;/);
  const short = await runCommand(`doctor ${url} --only partial_signature`);
  expect(short.stdout).toMatch(/X-Webhook-Signature:\s+v1=[0-9a-f]{8};/);
});

test("a --handled probe without a number stops the run", async () => {
  const { url } = await receivingEndpoint();
  const argv = ["doctor", url, "--json", "--handled", `${url}?id={id}`];
  const { code, stdout } = await runCommand(argv);
  expect(code).toBe(1);
  const { obstacle, cases } = JSON.parse(stdout) as { obstacle: object; cases: unknown[] };
  expect(cases).toEqual([]);
  expect(obstacle).toMatchObject({ code: "probe" });
  expect(JSON.stringify(obstacle)).toContain("--handled answered 200; expected");
});

test("Ctrl-C in doctor shows the cases that have run", async () => {
  const { url, onRequest } = await answeringEndpoint({ status: 200 });
  const command = startCommand(["doctor", url]);
  onRequest((count) => {
    if (count === 4) command.interrupt();
  });
  expect(await command.exitCode).toBe(130);
  expect(command.stdout()).toContain("✓ a genuine alarm is acknowledged");
});

describe("other machines", () => {
  const probe = ["--handled", "http://192.0.2.1/{id}"];

  test.each([
    ["http://example.com/hook"],
    ["http://192.0.2.1/hook"],
    ["http://0.0.0.0/hook"],
    ["http://127.0.0.1.example.com/hook"],
    ["http://localhost.example.com/hook"],
    ["http://[2001:db8::1]/hook"],
    ["http://127.0.0.1/hook", ...probe],
  ])("%s is refused before anything is sent", async (...argv) => {
    await expectEnd(runCommand(["doctor", ...argv]), { code: 2, stderr: "--yes" });
  });

  test.each([
    "http://localhost:1/",
    "http://app.localhost:1/",
    "http://127.8.9.1:1/",
    "http://[::1]:1/",
    "http://[::ffff:127.0.0.1]:1/",
    "http://2130706433:1/",
  ])("%s is this machine", async (url) => {
    const { code, stdout } = await runCommand(`doctor ${url} --timeout 1000`);
    expect(code).toBe(1);
    expect(stdout).toContain("no connection to");
  });
});

test.each([
  ["--type new_alarms", "--type must be one of"],
  ["--handled http://127.0.0.1/count", "with {id} in it"],
  ["--junit /there/is/none.xml --only alarm", "--junit: /there/is/none.xml"],
])("%j is wrong usage", async (argv, message) => {
  const { url } = await receivingEndpoint();
  await expectEnd(runCommand(`doctor ${url} ${argv}`), { code: 2, stderr: message });
});
