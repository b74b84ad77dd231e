import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { expectEnd, runCommand, startCommand, type TestWorld } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";
import { serving } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const NAME = "Astrid Exempel";
const BODY = JSON.stringify({
  alarm: {
    id: 1,
    text: `${NAME} was found`,
    account_id: 424_242_424_242,
    severity: "High",
    status: "NEW",
    source: "BreachDb",
    event_type: "email_hacked",
    category_id: 3,
    original_event_id: "e",
    payload: "{}",
    date: "2026-07-08 10:00:00",
    checked_at: "2026-07-08 10:00:00",
    created_at: "2026-07-08 10:00:00",
    updated_at: "2026-07-08 10:00:00",
  },
});

async function start(argv: readonly string[] = [], world: TestWorld = {}) {
  const command = startCommand(["listen", "--port", "0", ...argv], world);
  onTestFinished(async () => {
    expect(await command.stop()).toBe(130);
  });
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  return { command, url };
}

function alarm(overrides: { secret?: string; timestamp?: number; body?: string } = {}) {
  return signedDelivery({ type: "new_alarm", secret: TEST_SECRET, body: BODY, ...overrides });
}

test("listen prints a line per delivery, and no part of its body", async () => {
  const { command, url } = await start();
  const delivery = await alarm();
  const first = await fetch(url, delivery);
  const second = await fetch(`${url}any/path`, delivery);

  expect(await first.json()).toEqual({ outcome: "handled" });
  expect(await second.json()).toEqual({ outcome: "duplicate" });
  await command.says(/duplicate/);
  const id = delivery.headers["X-Webhook-Id"];
  const size = `${String(BODY.length)} bytes`;
  expect(command.stdout()).toMatch(new RegExp(`200 handled +new_alarm  ${id}  ${size}, `));
  for (const secret of [
    NAME,
    "424242424242",
    TEST_SECRET,
    delivery.headers["X-Webhook-Signature"],
  ]) {
    expect(command.stdout()).not.toContain(secret);
  }
});

test("listen shows a request that is not authentic without its id, with the reason and the fix", async () => {
  const { command, url } = await start();
  const { body, ...delivery } = await alarm();
  const response = await fetch(url, { ...delivery, body: `${String(body)}\n` });

  expect(response.status).toBe(409);
  await command.says(/409 signature_mismatch +\d+ bytes[^]*body_trailing_newline: .*\n +Fix: \S/);
  expect(command.stdout()).not.toContain(delivery.headers["X-Webhook-Id"]);
  expect(command.stdout()).not.toContain(NAME);
});

test("listen gives a reason for a repeated header, an old delivery and an undocumented body", async () => {
  const { command, url } = await start(["--json"]);
  const { headers } = await alarm();
  await new Promise((resolve) => {
    const twice = { ...headers, "X-Webhook-Id": [headers["X-Webhook-Id"], "other"] };
    http.request(url, { method: "POST", headers: twice }, resolve).end(BODY);
  });
  await fetch(url, await alarm({ timestamp: 1_760_000_000 }));
  await fetch(url, await alarm({ body: '{"alarm":{"id":1}}' }));
  await fetch(url);
  await fetch(url, { method: "PUT" });

  await command.says(/method_not_allowed/);
  const lines = command.stdout().trim().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries).toMatchObject([
    { event: "listening", url },
    { outcome: "malformed", status: 409, findings: [{ code: "header_repeated" }] },
    { outcome: "stale", type: "new_alarm", findings: [{ code: "timestamp_behind" }] },
    { outcome: "unrecognized", status: 503, findings: [] },
    { outcome: "reachable", status: 200, bytes: 0 },
    { outcome: "method_not_allowed", status: 405, bytes: 0 },
  ]);
  expect(entries[3]?.["reasons"]).toContain("alarm.text: expected a string");
});

test("--show-body shows the body, which cannot control the terminal", async () => {
  const { command, url } = await start(["--show-body"]);
  await fetch(url, await alarm({ body: BODY.replace("found", "\u001b[2J") }));
  await command.says(/was \\u001b\[2J/);
  expect(command.stdout()).toContain(NAME);

  const { command: lines, url: jsonUrl } = await start(["--show-body", "--json"]);
  const bytes = Buffer.from([0xff, 0xfe]);
  await fetch(jsonUrl, { method: "POST", body: bytes });
  await lines.says(/"bodyBase64":"\/\/4="/);
});

test("listen accepts either secret during a rotation", async () => {
  const { command, url } = await start(["--secret", "next", "--secret", "current"]);
  await fetch(url, await alarm({ secret: "current" }));
  await command.says(/200 handled/);
});

test("fixtures that listen records hold no personal data and can be replayed", async () => {
  const directory = folder.at("recorded");
  const { command, url } = await start(["--record", directory]);
  await fetch(url, await alarm());
  await fetch(url, { ...(await alarm()), body: "{}" });
  await command.says(/recorded: .*\.json/);
  await command.says(/signature_mismatch/);
  const files = readdirSync(directory);
  expect(files).toHaveLength(1);
  expect(readFileSync(path.join(directory, files[0] ?? ""), "utf8")).not.toContain("Astrid");

  const replayed = await runCommand(`replay ${directory} --to ${url}`);
  expect(replayed.stdout).toContain("✓ 1 as expected");
  expect(await loadFixtures(directory)).toMatchObject([{ expect: { outcome: "handled" } }]);
});

test("listen --keep-keys keeps keys of the payload, and --keep-values their values", async () => {
  const directory = folder.at("kept");
  const keep = [
    "--keep-keys",
    "alarm.payload.breach.name",
    "--keep-values",
    "alarm.payload.breach.year",
  ];
  const { command, url } = await start(["--record", directory, ...keep]);
  const payload = '{"breach":{"name":"Exempel","year":2019,"Astrid":1}}';
  await fetch(url, await alarm({ body: BODY.replace('"{}"', JSON.stringify(payload)) }));
  await command.says(/recorded: .*\.json/);
  const [recorded] = await loadFixtures(directory);
  const body = JSON.parse(String(recorded?.body)) as { alarm: { payload: string } };
  expect(JSON.parse(body.alarm.payload)).toEqual({
    breach: { name: "xxxxxxx", year: 2019, key0: 9 },
  });
});

test("listen refuses --keep-keys without --record, and a pattern that can never apply", async () => {
  const lonely = await runCommand("listen --keep-keys alarm.payload.name");
  expect(lonely).toMatchObject({ code: 2, stdout: "" });
  expect(lonely.stderr).toContain("--keep-keys and --keep-values need --record");
  const odd = await runCommand(`listen --record ${folder.at()} --keep-values alarm.**`);
  expect(odd.code).toBe(2);
  expect(odd.stderr).toContain("must contain dotted paths");
});

test.each([[[]], [["--json"]]])("listen says why it cannot record a delivery %j", async (argv) => {
  const taken = folder.write("taken", "");
  const { command, url } = await start(["--record", taken, ...argv]);
  await fetch(url, await alarm());
  await command.says(
    /(not recorded: |"not_recorded","reason":")its file could not be written: E[A-Z]+/,
  );
});

test("listen refuses to run without a secret, unless --accept-unsigned is set", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: undefined };
  await expectEnd(runCommand("listen", { env }), { code: 2, stderr: "--accept-unsigned" });

  const { command, url } = await start(["--accept-unsigned"], { env });
  expect(command.stderr()).toContain("deliveries from anyone are accepted");
  const { headers, body } = await alarm();
  const unsigned = Object.entries(headers).filter(([name]) => name !== "X-Webhook-Signature");
  expect(
    (await fetch(url, { method: "POST", headers: Object.fromEntries(unsigned), body })).status,
  ).toBe(200);
  expect((await fetch(url, { method: "POST", body })).status).toBe(409);
  await command.says(/409 malformed/);
  const both = await runCommand("listen --accept-unsigned");
  expect(both.code).toBe(2);
});

test("a port in use, a host of another machine and a bad secret are one line", async () => {
  const { port } = new URL(await serving(http.createServer()));
  const taken = await runCommand(`listen --port ${port}`);
  expect(taken).toMatchObject({ code: 2, stdout: "" });
  expect(taken.stderr).toContain(`port ${port} is in use`);
  const elsewhere = await runCommand("listen --port 0 --host 192.0.2.1");
  expect(elsewhere.stderr).toContain("not an address of this machine");
  const unusable = await runCommand(`listen --port 0 --host ${"x".repeat(300)}`);
  expect(unusable.code).toBe(2);
  expect(unusable.stderr).toContain("getaddrinfo");
  const spaced = await runCommand(["listen", "--secret", " spaced "]);
  expect(spaced.stderr).toContain("white space");
  expect(spaced.stderr).not.toContain("spaced");
});

test("Ctrl-C closes the port, also during a request that hangs", async () => {
  const { command, url } = await start();
  const hanging = http.request(url, { method: "POST", headers: { "content-length": 10 } });
  hanging.on("error", () => undefined).write("12345");
  await eventually(() => hanging.socket?.connecting).toBe(false);
  expect(await command.stop()).toBe(130);
  await expect(fetch(url)).rejects.toThrow();
});
