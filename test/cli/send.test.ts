import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Alarm } from "../../src/index.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

interface SendDocument {
  readonly delivery: { readonly id: string; readonly type: string; readonly bytes: number };
  readonly answers: readonly { status: number; outcome: string; gateway: string; error?: string }[];
  readonly passed: boolean;
}

async function sendJson(...argv: readonly string[]) {
  const { code, stdout } = await runCommand(["send", ...argv, "--json"]);
  return { code, ...(JSON.parse(stdout) as SendDocument) };
}

test("send signs an alarm, and shows status, outcome and time", async () => {
  const { url, outcomes } = await receivingEndpoint();
  const { code, stdout, stderr } = await runCommand(`send ${url}`);

  expect(code).toBe(0);
  expect(outcomes()).toEqual(["handled"]);
  expect(stdout).toContain(`POST ${url}`);
  expect(stdout).toMatch(/X-Webhook-Type +new_alarm/);
  expect(stdout).toMatch(/200 {2}handled +\d+\.\d {2}takes it as received/);
  expect(stdout).toContain("✓ acknowledged");
  expect(stderr).toBe("");
});

test.each(["", " --follow-retries"])(
  "send%s of a delivery that was acknowledged and dropped fails",
  async (option) => {
    const { url } = await answeringEndpoint({ status: 200, body: '{"outcome":"unhandled"}' });
    const { code, stdout } = await runCommand(`send ${url}${option}`);
    expect(stdout).toContain("✗ acknowledged and dropped: the receiver has no handler for it");
    expect(code).toBe(1);
  },
);

test("the advice on a handler that fails is about the handler and its log", async () => {
  const body = '{"error":{"code":"HANDLER_FAILED"}}';
  const { url } = await answeringEndpoint({ status: 500, body });
  const { stdout } = await runCommand(`send ${url}`);
  expect(stdout).toMatch(
    /✗ not acknowledged\n {2}Look into the log of the receiver, which answers [^]* name an account\s+that it has: --account-id/,
  );
});

test("two made-up alarms have two ids, about the accounts that are named", async () => {
  const { url, seen } = await answeringEndpoint({ status: 200 });
  const accounts = ["--account-id", "17"];
  for (const more of [[], [], ["--seed", "5"], ["--seed", "5"]]) {
    await sendJson(url, ...accounts, ...more);
  }
  const alarms = seen.map(({ body }) => (JSON.parse(body) as { alarm: Alarm }).alarm);
  expect(alarms.map(({ account_id }) => account_id)).toEqual([17, 17, 17, 17]);
  const [one, other, ...seeded] = alarms.map(({ id }) => id);
  expect(one).not.toBe(other);
  expect(seeded).toEqual([2_000_000_005, 2_000_000_005]);
  await expectEnd(runCommand(`send ${url} --account-id mine`), {
    code: 2,
    stderr: "--account-id must be a whole number",
  });
});

test.each([
  ["--event", "DATA_REAPPEARED", "delete_my_data_event"],
  ["--event", "POWER_OF_ATTORNEY_SIGNED", "delete_my_data_event"],
  ["--event-type", "BureauCreditB", "new_alarm"],
  ["--type", "delete_my_data_event", "delete_my_data_event"],
  ["--format", "standardized", "new_alarm"],
])("%s %s decides what is made up", async (option, value, type) => {
  const { url } = await receivingEndpoint();
  const sent = await sendJson(url, option, value, "--id", "of-the-test");

  expect(sent).toMatchObject({ code: 0, passed: true, delivery: { id: "of-the-test", type } });
  expect(sent.answers).toMatchObject([
    { status: 200, outcome: "handled", gateway: "acknowledged" },
  ]);
});

test("the exact bytes of a file, a fixture and standard input are sent", async () => {
  const { url, seen } = await answeringEndpoint({ status: 204 });
  const body = '{ "alarm" : {"id": 1.0}}\n';
  const fixture = "fixtures/event-data-deleted.json";
  const event = '{"event":{}}';

  expect((await sendJson(url, "--body", folder.write("body.json", body))).delivery.type).toBe(
    "new_alarm",
  );
  expect((await sendJson(url, "--fixture", fixture)).delivery.type).toBe("delete_my_data_event");
  expect((await sendJson(url, "--body", folder.write("event.json", event))).delivery.type).toBe(
    "delete_my_data_event",
  );
  const piped = await runCommand(`send ${url} --body - --type new_alarm`, {
    stdin: "no JSON",
  });
  expect(piped.code).toBe(0);
  expect(seen.map((request) => request.body)).toEqual([
    body,
    expect.stringContaining('"DATA_DELETED"') as string,
    event,
    "no JSON",
  ]);
});

test("a fixture without X-Webhook-Type gets the type that its body implies", async () => {
  const { url } = await answeringEndpoint({ status: 200 });
  const recorded = readFileSync("fixtures/event-data-deleted.json", "utf8");
  const untyped = folder.write("untyped.json", recorded.replace("X-Webhook-Type", "X-Other"));
  expect((await sendJson(url, "--fixture", untyped)).delivery.type).toBe("delete_my_data_event");
});

test("a delivery that is sent five times at the same time is handled once", async () => {
  const { url, outcomes } = await receivingEndpoint();
  const { code, answers } = await sendJson(url, "--times", "5", "--concurrent");

  expect(code).toBe(0);
  expect(answers).toHaveLength(5);
  expect(outcomes().filter((outcome) => outcome === "handled")).toHaveLength(1);
});

test.each([
  [["--tamper"], "signature_mismatch"],
  [["--stale", "600"], "stale"],
  [["--wrong-secret"], "signature_mismatch"],
])("%s is refused, which passes", async (experiment, outcome) => {
  const { url } = await receivingEndpoint();
  const sent = await sendJson(url, ...experiment);
  expect(sent).toMatchObject({ code: 0, passed: true, answers: [{ status: 409, outcome }] });
  const { stdout } = await runCommand(["send", url, ...experiment]);
  expect(stdout).toContain("✓ refused, as it must be");
});

test.each([["--tamper"], ["--stale=600"], ["--wrong-secret"]])(
  "a 2xx to %s is the failure",
  async (experiment) => {
    const { url } = await answeringEndpoint({ status: 200 });
    const { code, stdout } = await runCommand(`send ${url} ${experiment}`);
    expect(code).toBe(1);
    expect(stdout).toContain("✗ acknowledged, although it must be refused");
  },
);

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
  expect(first).toMatch(/"created_at":"\d{4}-\d\d-\d\dT[^"]*Z"/);
  expect(third).not.toBe(first);
});

test("a name with several addresses has one reason", async () => {
  const url = (await silentUrl()).replace("127.0.0.1", "localhost");
  const { answers } = await sendJson(url);
  expect(answers[0]?.error).toMatch(/^(the request failed: )?connect E(CONNREFUSED|TIMEDOUT) /);
});

test("send names a final status as the loss of the alarm", async () => {
  const { url } = await answeringEndpoint({ status: 200 }, { status: 401 });
  const { code, stdout } = await runCommand(`send ${url} --times 2`);
  expect(code).toBe(1);
  expect(stdout).toMatch(/2 +401 .*gives it up for good/);
  expect(stdout).toContain("lost for good");
});

test("send fails with the reason when nothing listens, and no experiment passes for it", async () => {
  const url = await silentUrl();
  await expectEnd(runCommand(`send ${url}`), { code: 1, stdout: "ECONNREFUSED" });
  expect((await runCommand(`send ${url} --tamper`)).code).toBe(1);
});

test("a status that the contract does not mention is named, also beside a 200", async () => {
  const { url } = await answeringEndpoint({ status: 200 }, { status: 405 });
  const { code, stdout } = await runCommand(`send ${url} --times 2`);
  expect(code).toBe(1);
  expect(stdout).toContain("the gateway's contract does not mention this status");
});

test("the time of an answer has one decimal in --json, too", async () => {
  const { url } = await receivingEndpoint();
  const { stdout } = await runCommand(`send ${url} --json`);
  expect(stdout).toMatch(/"ms": ?\d+(\.\d)?[,\s}]/);
});

test("a body that implies no type needs --type", async () => {
  const { code, stderr } = await runCommand(
    `send http://127.0.0.1/ --body ${folder.write("list.json", "[1]")}`,
  );
  expect(code).toBe(2);
  expect(stderr).toContain("pass its --type");
});
