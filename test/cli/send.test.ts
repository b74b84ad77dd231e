import { readFileSync } from "node:fs";
import http from "node:http";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../cli/exit.js";
import { readTargetUrl } from "../../cli/options/target-url.js";
import type { Alarm } from "../../src/index.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";
import { serving } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { thrownBy } from "../support/thrown.js";

const folder = temporaryFolder();

async function sendJson(...argv: readonly string[]) {
  const { code, stdout } = await runCommand(["send", ...argv, "--json"]);
  const sent = JSON.parse(stdout) as {
    readonly delivery: { readonly id: string; readonly type: string };
    readonly answers: readonly { outcome: string; error?: string }[];
    readonly passed: boolean;
  };
  return { code, ...sent };
}

test("send signs an alarm, and shows status, outcome and time", async () => {
  const { url, outcomes } = await receivingEndpoint();
  await expectEnd(`send ${url}`, {
    code: 0,
    stdout: [
      `POST ${url}`,
      /X-Webhook-Type +new_alarm/,
      /200 {2}handled +\d+\.\d {2}takes it as received/,
      "✓ acknowledged",
    ],
    stderr: "",
  });
  await expectEnd(`send ${url} --json`, { stdout: /"ms": ?\d+(\.\d)?[,\s}]/ });
  expect(outcomes()).toEqual(["handled", "handled"]);
});

describe("an answer that shows a loss makes send exit 1:", () => {
  const UNHANDLED = [{ status: 200, body: '{"outcome":"unhandled"}' }];
  const DROPPED = "✗ acknowledged and dropped: the receiver has no handler for it";
  const FAILED = [{ status: 500, body: '{"error":{"code":"HANDLER_FAILED"}}' }];
  const ADVICE =
    /✗ not acknowledged Look into the log of the receiver, .* that it has: --account-id/;
  const UNKNOWN = "the gateway's contract does not mention this status";
  test.each([
    ["no handler", UNHANDLED, "", DROPPED],
    ["no handler, with --follow-retries", UNHANDLED, " --follow-retries", DROPPED],
    ["a handler that fails, with advice on its log", FAILED, "", ADVICE],
    [
      "another secret",
      [{ status: 409, body: '{"error":{"code":"SIGNATURE_MISMATCH"}}' }],
      "",
      "The endpoint has another secret than this command",
    ],
    ["a final status", [{ status: 200 }, { status: 401 }], " --times 2", /2 +401 .*lost for good/s],
    ["a status beside the contract", [{ status: 200 }, { status: 405 }], " --times 2", UNKNOWN],
  ])("%s", async (_what, answers, options, stdout) => {
    const { url } = await answeringEndpoint(...answers);
    await expectEnd(`send ${url}${options}`, { code: 1, stdout });
  });
});

test("two made-up alarms have two ids, about the accounts that are named", async () => {
  const { url, seen } = await answeringEndpoint({ status: 200 });
  for (let sent = 0; sent < 2; sent++) await sendJson(url, "--account-id", "17");
  const alarms = seen.map(({ body }) => (JSON.parse(body) as { alarm: Alarm }).alarm);
  expect(alarms.map(({ account_id }) => account_id)).toEqual([17, 17]);
  expect(new Set(alarms.map(({ id }) => id)).size).toBe(2);
  const stderr = "--account-id must be a whole number";
  await expectEnd(`send ${url} --account-id mine`, { code: 2, stderr });
});

test.each([
  ["--event", "DATA_REAPPEARED", "delete_my_data_event"],
  ["--event-type", "BureauCreditB", "new_alarm"],
  ["--type", "delete_my_data_event", "delete_my_data_event"],
])("%s %s decides what is made up", async (option, value, type) => {
  const { url } = await receivingEndpoint();
  const sent = await sendJson(url, option, value, "--id", "of-the-test");
  const answers = [{ status: 200, outcome: "handled", gateway: "acknowledged" }];
  const delivery = { id: "of-the-test", type };
  expect(sent).toMatchObject({ code: 0, passed: true, delivery, answers });
});

test("the exact bytes of a file, a fixture and standard input are sent", async () => {
  const { url, seen } = await answeringEndpoint({ status: 204 });
  const typeOf = async (option: string, file: string) =>
    (await sendJson(url, option, file)).delivery.type;
  const body = '{ "alarm" : {"id": 1.0}}\n';
  const event = '{"event":{}}';
  const fixture = "fixtures/event-data-deleted.json";
  const untyped = readFileSync(fixture, "utf8").replace("X-Webhook-Type", "X-Other");

  expect(await typeOf("--body", folder.write("body.json", body))).toBe("new_alarm");
  expect(await typeOf("--body", folder.write("event.json", event))).toBe("delete_my_data_event");
  expect(await typeOf("--fixture", fixture)).toBe("delete_my_data_event");
  // Its body implies the type.
  const file = folder.write("untyped.json", untyped);
  expect(await typeOf("--fixture", file)).toBe("delete_my_data_event");
  const piped = { stdin: "no JSON" };
  await expectEnd(`send ${url} --body - --type new_alarm`, { code: 0 }, piped);
  const deleted = expect.stringContaining('"DATA_DELETED"') as string;
  expect(seen.map((request) => request.body)).toEqual([body, event, deleted, deleted, "no JSON"]);

  const list = folder.write("list.json", "[1]");
  await expectEnd(`send ${url} --body ${list}`, { code: 2, stderr: "pass its --type" });
});

test.each([
  ["--tamper", "signature_mismatch"],
  ["--stale=600", "stale"],
  ["--wrong-secret", "signature_mismatch"],
])("%s passes if it is refused, and a 2xx or no answer is the failure", async (option, outcome) => {
  const { url } = await receivingEndpoint();
  const json = { passed: true, answers: [{ status: 409, outcome }] };
  await expectEnd(`send ${url} ${option} --json`, { code: 0, json });
  const refused = { code: 0, stdout: "✓ refused, as it must be", never: /sends it|gives it up/ };
  await expectEnd(`send ${url} ${option}`, refused);
  // As with unverifiable: "reject".
  const final = await answeringEndpoint({ status: 401 });
  await expectEnd(`send ${final.url} ${option}`, refused);
  const taking = await answeringEndpoint({ status: 200 });
  const stdout = "✗ acknowledged, although it must be refused";
  await expectEnd(`send ${taking.url} ${option}`, { code: 1, stdout });
  await expectEnd(`send ${await silentUrl()} ${option}`, { code: 1, stdout: "ECONNREFUSED" });
});

test.each(["", "no digit", '{"alarm":{"id":9}}', '{"alarm":{"id":10}}'])(
  "--tamper changes %j, and keeps its length unless it is empty",
  async (body) => {
    const { url, seen } = await answeringEndpoint({ status: 409 });
    const argv = ["--body", folder.write("tampered", body), "--type", "new_alarm", "--tamper"];
    expect((await sendJson(url, ...argv)).passed).toBe(true);
    expect(seen[0]?.body).not.toBe(body);
    expect(seen[0]?.body).toHaveLength(Math.max(body.length, 1));
    if (body.startsWith("{")) expect(JSON.parse(seen[0]?.body ?? "")).toHaveProperty("alarm.id");
  },
);

test("the same seed gives the same record, in the requested format", async () => {
  const { url, seen } = await answeringEndpoint({ status: 200 });
  const argv = ["--event-type", "iban_hacked", "--seed", "7", "--format", "standardized"];
  await sendJson(url, ...argv);
  await sendJson(url, ...argv);
  await sendJson(url, ...argv.slice(0, 2), "--seed", "8");
  const [first, second, third] = seen.map(({ body }) => body);
  expect(first).toBe(second);
  expect(first).toContain('"id":2000000007,');
  expect(first).toMatch(/"created_at":"\d{4}-\d\d-\d\dT[^"]*Z"/);
  expect(third).not.toBe(first);
});

test("send fails with one reason when nothing listens, also for a name with several addresses", async () => {
  const url = (await silentUrl()).replace("127.0.0.1", "localhost");
  await expectEnd(`send ${url}`, { code: 1, stdout: /connect E(CONNREFUSED|TIMEDOUT)/ });
  const { answers } = await sendJson(url);
  expect(answers[0]?.error).toMatch(/^(the request failed: )?connect E(CONNREFUSED|TIMEDOUT) /);
});

test("send shows neither the secret nor the signature, and the body only with --show-body", async () => {
  const { url } = await answeringEndpoint({ status: 500, body: `no: ${TEST_SECRET}` });
  await expectEnd(`send ${url}`, { never: [TEST_SECRET, /v1=[0-9a-f]/, "account_id"] });
  await expectEnd(`send ${url} --show-body`, { stdout: '"account_id"' });
});

test.each(["", " --json", " --follow-retries --speed 1000000 --json"])(
  "an answer cannot control the terminal: send%s",
  async (options) => {
    const body = '{"outcome":"\\u001b[2Jgone\\u009b"}';
    const { url } = await answeringEndpoint({ status: 200, body });
    const stdout = /\\+u001b\[2Jgone\\+u009b/;
    await expectEnd(`send ${url}${options}`, { stdout, never: /[\u001b\u009b]/ });
  },
);

describe("--follow-retries", () => {
  const FAST = ["--follow-retries", "--speed", "1000000"];

  test("sends again until the delivery is acknowledged, and shows each attempt", async () => {
    const later = { status: 503, body: '{"error":{"code":"RETRY_LATER"}}' };
    const { url, seen } = await answeringEndpoint(later, { status: 500 }, { status: 200 });
    const stdout = [
      /1 {2}at once +503 {2}retry_later .*sends it again later/,
      /2 {2}after 10 s +500/,
      /3 {2}after 25 s +200 .*takes it as received/,
      "~ acknowledged: answered 200 at attempt 3, by whom is not known, 35 s after the first",
    ];
    await expectEnd(["send", url, ...FAST], { code: 0, stdout });
    expect(seen).toHaveLength(3);
  });

  test("ends at a final status, and the alarm is lost", async () => {
    const { url, seen } = await answeringEndpoint({ status: 503 }, { status: 401 });
    const stdout = /✗ given up: answered 401 at attempt 2.*the alarm is lost/;
    await expectEnd(["send", url, ...FAST], { code: 1, stdout });
    expect(seen).toHaveLength(2);
  });

  test("gives up after ten attempts without an answer, each shown with its reason", async () => {
    const argv = ["send", await silentUrl(), ...FAST];
    const json = { end: "exhausted", passed: false };
    const { stdout } = await expectEnd([...argv, "--json"], { code: 1, json });
    const { attempts } = JSON.parse(stdout) as { attempts: { waitedMs: number; result: string }[] };
    expect(attempts.map(({ result }) => result)).toEqual(Array(10).fill("network_error"));
    expect(attempts.at(-1)?.waitedMs).toBeGreaterThan(3 * 3_600_000);
    const reason = / 10 {2}after .* – .*ECONNREFUSED.*sends it again later/;
    await expectEnd(argv, { code: 1, stdout: [reason, "the alarm is lost"] });
  });

  test.each([[[]], [["--times", "2"]]])(
    "says that a closed port proves nothing about a wrong secret, and exits 1: %j",
    async (more) => {
      const argv = ["send", await silentUrl(), ...FAST, "--wrong-secret", ...more];
      const stdout = /✗ no answer came to attempt 10 \(.*ECONNREFUSED.*\), so nothing shows/;
      await expectEnd(argv, { code: 1, stdout });
      const json = { end: "exhausted", passed: false };
      await expectEnd([...argv, "--json"], { code: 1, json });
    },
  );

  test.each([
    ["until the attempts are used up passes", [409], 1, 0, "✓ exhausted: answered 409 at", 10],
    ["for good passes", [401], 1, 0, "✓ given up: answered 401 at attempt 1", 1],
    ["and then acknowledged fails", [200], 1, 1, "✗ acknowledged: answered 200 at attempt 1", 1],
    ["and acknowledged at once fails", [401, 200], 2, 1, "✗ request 1.2 was acknowledged", 2],
  ])(
    "of a wrong secret that is refused %s",
    async (_how, statuses, times, code, stdout, requests) => {
      const { url, seen } = await answeringEndpoint(...statuses.map((status) => ({ status })));
      const argv = ["send", url, ...FAST, "--wrong-secret", `--times=${times}`];
      await expectEnd(argv, { code, stdout, never: "gives it up" });
      expect(seen).toHaveLength(requests);
    },
  );

  test("ends its wait for the next attempt at Ctrl-C", async () => {
    const { url, seen } = await answeringEndpoint({ status: 503 });
    const command = startCommand(["send", url, "--follow-retries", "--speed", "1"]);
    await command.says(/ 503 /);
    expect(await command.stop()).toBe(130);
    expect(seen).toHaveLength(1);
  });
});

test.each([[["send"]], [["replay", "fixtures", "--to"]]])(
  "Ctrl-C ends the wait for the first answer to %j, and nothing is printed",
  async (argv) => {
    let asked = 0;
    const url = await serving(http.createServer(() => void (asked += 1)));
    const command = startCommand([...argv, url]);
    await eventually(() => asked).toBe(1);
    expect(await command.stop()).toBe(130);
    expect(command.stdout()).toBe("");
    if (argv[0] === "send") expect(command.stderr()).toBe("");
  },
);

test("Ctrl-C before a port is open leaves no port open", async () => {
  const command = startCommand(["listen", "--port", "0"]);
  expect(await command.stop()).toBe(130);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\//.exec(command.stdout()) ?? [];
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

describe("the URL of an endpoint", () => {
  test.each([
    ["localhost:3000", "http://localhost:3000/"],
    ["web_app:8080/hook?token=x", "http://web_app:8080/hook?token=x"],
    ["[::1]:3000/hook", "http://[::1]:3000/hook"],
    ["staging.example.com:443/hook", "https://staging.example.com/hook"],
    ["staging.example.com:8443/hook", "https://staging.example.com:8443/hook"],
  ])("%s is read as %s", (given, url) => {
    expect(readTargetUrl(given).href).toBe(url);
  });

  test.each([
    "whsec_0123456789abcdef",
    "localhost",
    "user:password@example.com:3000/hook",
    "example.com:99999/hook",
    "ftp://example.com:3000/hook",
    "",
  ])("is not %j, and the message does not repeat it", (given) => {
    const error = thrownBy(() => readTargetUrl(given)) as Error;
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toContain("must be an http or https URL");
    if (given !== "") expect(error.message).not.toContain(given);
  });

  test.each(["send URL", "replay fixtures/golden-vector.json --to URL", "doctor URL --only alarm"])(
    "needs no scheme: %s",
    async (command) => {
      const { url } = await receivingEndpoint();
      await expectEnd(command.replace("URL", url.replace("http://", "")), { code: 0, stdout: url });
    },
  );
});
