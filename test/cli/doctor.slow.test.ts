import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { probeRepeatedTimestamp } from "../../cli/doctor/repeated-timestamp.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

interface DoctorDocument {
  readonly repeatedTimestamp?: { readonly refusedFrom: unknown };
  readonly cases: readonly Readonly<Record<"id" | "level" | "result", string>>[];
}

async function doctorJson(...argv: readonly string[]) {
  const { stdout } = await runCommand(["doctor", ...argv, "--json"]);
  return JSON.parse(stdout) as DoctorDocument;
}

test("doctor shows that a receiver that answers 401 loses alarms, why, and how to fix it", async () => {
  const { url } = await receivingEndpoint({ unverifiable: "reject" });
  const junit = folder.at("reject.xml");
  await expectEnd(`doctor ${url} --junit ${junit}`, {
    code: 1,
    stdout: [
      /retries\n[^]*✗ a delivery signed with another secret .*\(must, /,
      / sent +POST; .*X-Webhook-Type/,
      / received +401 /,
      / why +\S/,
      / fix +\S/,
      /✗ \d+ passed, \d+ failed that must pass/,
    ],
    never: [TEST_SECRET, /v1=[0-9a-f]{6}/],
  });
  const xml = readFileSync(junit, "utf8");
  expect(xml).toMatch(/<failure message="[^"]+" type="given_up">sent: POST; /);
  expect(xml).not.toContain(TEST_SECRET);
});

test("doctor passes a right receiver that has a secret for each type", async () => {
  const secret = {
    new_alarm: "whsec_of_the_alarms_0123456789",
    delete_my_data_event: "whsec_of_the_events_0123456789",
  };
  const { url, probes } = await receivingEndpoint({ secret });
  const secrets = Object.entries(secret).flatMap(([type, one]) => ["--secret", `${type}=${one}`]);
  await expectEnd(["doctor", url, ...probes, ...secrets, "--strict", "--require-judged"], {
    code: 0,
    never: Object.values(secret),
  });
}, 300_000);

describe("doctor, about a gateway that repeats its first timestamp,", () => {
  test("says which retries our receiver refuses, and which option to set", async () => {
    const { url } = await receivingEndpoint();
    const stdout = [
      "first timestamp – its retries are refused from attempt 6 on, 10 min 27 s after the first note ",
      / raise timestampToleranceMs/,
    ];
    await expectEnd(`doctor ${url}`, { code: 0, stdout });
    const json = await doctorJson(url);
    expect(json.repeatedTimestamp?.refusedFrom).toMatchObject({ attempt: 6 });
  });

  test("says that all retries are accepted when the tolerance is raised", async () => {
    const endpoint = await receivingEndpoint({ timestampToleranceMs: 7 * 86_400_000 });
    // A raised tolerance fails a `should`, on purpose.
    const accepted = "– its retries are accepted up to the last, 6 h 39 min after the first";
    const stdout = [accepted, "2 failed that should"];
    await expectEnd(`doctor ${endpoint.url}`, { code: 0, stdout });
    expect((await doctorJson(endpoint.url)).repeatedTimestamp?.refusedFrom).toBeNull();
  });

  test("says nothing when fresh deliveries are refused too, or with --only", async () => {
    const { url } = await answeringEndpoint({ status: 409 });
    expect(await doctorJson(url)).not.toHaveProperty("repeatedTimestamp");
    const ours = await receivingEndpoint();
    await expectEnd(`doctor ${ours.url} --only alarm`, { never: "first timestamp" });
  });

  test("says nothing about an endpoint that starts to refuse everything", async () => {
    const { url, seen } = await answeringEndpoint({ status: 200 }, { status: 409 });
    const { signal } = new AbortController();
    const endpoint = {
      url: new URL(url),
      secret: TEST_SECRET,
      types: ["new_alarm"] as const,
      accountIds: [],
      leftOut: [],
      connection: {},
    };
    expect(await probeRepeatedTimestamp(endpoint, signal)).toBeUndefined();
    expect(seen).toHaveLength(3);
  });
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

  await expectEnd(["doctor", url, ...only, "--junit", junit], {
    code: 0,
    stdout: `${String(ids.length)} failed that should`,
  });
  expect(readFileSync(junit, "utf8")).toContain('failures="0"');
  await expectEnd(["doctor", url, ...only, "--strict"], { code: 1 });
});

test("doctor shortens a signature so that it cannot be used", async () => {
  const { url } = await answeringEndpoint({ status: 200 });
  const shortened = /X-Webhook-Signature: v1=[0-9a-f]{5}…;/;
  await expectEnd(`doctor ${url} --only wrong_secret`, { stdout: shortened });
  const partial = /X-Webhook-Signature: v1=[0-9a-f]{8};/;
  await expectEnd(`doctor ${url} --only partial_signature`, { stdout: partial });
});

test("with every probe doctor judges every case, and proves it to --require-judged", async () => {
  const { url, probes, switchedOn } = await receivingEndpoint();
  const { code, stdout } = await runCommand(["doctor", url, ...probes, "--require-judged"]);
  const [, last = ""] = stdout.split(/✓ \d+ passed\n\nnot proven:\n|\nleft behind:\n/);
  // Only what no run proves.
  expect(last.match(/^ {2}–.*$/gm)).toEqual([
    expect.stringContaining("72 hours"),
    expect.stringContaining("all processes and replicas"),
    expect.stringContaining("which record was handled"),
  ]);
  expect(last).toContain("restart");
  expect(stdout).not.toContain("This run does not prove");
  expect(code).toBe(0);
  expect(switchedOn()).toEqual([]);
});

test("without probes the last lines of doctor say what was not proven, and which option proves it", async () => {
  const { url } = await receivingEndpoint();
  const { code, stdout } = await runCommand(`doctor ${url}`);
  expect(code).toBe(0);
  const [, last = ""] = stdout.split(/✓ \d+ passed, 9 not judged\n\nnot proven:\n/);
  expect(last).toContain("→ pass --handled <url>");
  expect(last).toContain("→ pass --while-failing-on <url> and --while-failing-off <url>");
  expect(last).toContain("→ pass --while-slow-on <url> and --while-slow-off <url>");
  expect(last).toMatch(/\d+ cases passed by the answer alone/);
  // In words, with the option that proves most.
  const words = last.replaceAll(/\s+/g, " ");
  expect(words).toMatch(
    /This run does not prove .*handler fails.* \(\d+ cases\)\. To prove most of it, pass --handled <url>\. With --require-judged a run that leaves a case open exits 1\. $/,
  );
  // It has seen the mark of our receiver.
  expect(stdout).not.toMatch(/who answered|other headers|cannot be taken/);
});

test("--require-judged exits 1 for a case that is not judged, but not for a type that --type leaves out", async () => {
  const { url } = await receivingEndpoint();
  const only = ["--only", "alarm", "--only", "event", "--require-judged"];
  await expectEnd(["doctor", url, ...only, "--type", "new_alarm"], { code: 0 });
  const more = ["--only", "failure_sent_again"];
  const stdout = "✗ 2 passed, 1 not judged";
  await expectEnd(["doctor", url, ...only, ...more], { code: 1, stdout });
});

test("a switch that does not work fails its case and is named", async () => {
  const { url } = await receivingEndpoint();
  const off = ["--while-failing-off", `${new URL(url).origin}/none`];
  const broken = await answeringEndpoint({ status: 404 });
  const argv = ["doctor", url, "--only", "failure_sent_again", ...off, "--while-failing-on"];
  const answered = " result --while-failing-on answered 404; expected 2xx";
  await expectEnd([...argv, broken.url], { code: 1, stdout: [answered, "1. Repair the probe"] });
  const silent = / result --while-failing-on got no answer: .*ECONNREFUSED/;
  await expectEnd([...argv, "http://127.0.0.1:1/"], { stdout: silent });
});

test("Ctrl-C while the handler fails lets it work again", async () => {
  const { url, probes, switchedOn } = await receivingEndpoint();
  // No answer, so that the run stays inside the case.
  const only = ["--only", "failure_sent_again", "--only", "late_handler_counts"];
  const command = startCommand(["doctor", url, ...probes, ...only]);
  await eventually(switchedOn).not.toEqual([]);
  expect(await command.stop()).toBe(130);
  expect(switchedOn()).toEqual([]);
});

test.each([
  ["--while-failing-on http://127.0.0.1:1/", "--while-failing-on and --while-failing-off belong"],
  ["--while-slow-on http://192.0.2.1/ --while-slow-off http://127.0.0.1:1/", "add --yes to"],
  ["--while-slow-on x --while-slow-off x", "must be an http or https URL"],
  ["--group forgeries", "there is no group forgeries; the nearest are forgery,"],
  ["--only alarm --skip alarm", "--only, --group and --skip leave no case"],
  ["--group forgery --only alarm", "--only, --group and --skip leave no case"],
])("doctor refuses %j", async (argv, message) => {
  await expectEnd(runCommand(`doctor http://127.0.0.1:1/ ${argv}`), { code: 2, stderr: message });
});
