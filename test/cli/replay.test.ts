import { copyFileSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { fixtures } from "../support/fixtures.js";
import { testCertificate } from "../support/servers.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const folder = temporaryFolder(afterAll);

const OTHER_SECRET = "whsec_other_0123456789abcdef";
beforeAll(() => {
  const name = "alarm-email-hacked.json";
  copyFileSync(`fixtures/${name}`, folder.at(name));
  const fixture = readFileSync(`fixtures/${name}`, "utf8");
  const unjudged = { ...(JSON.parse(fixture) as object), expect: undefined };
  folder.write("unjudged.json", JSON.stringify(unjudged));
});

test("replay: every published fixture is answered as it expects, also the second time", async () => {
  const { url } = await receivingEndpoint();
  const argv = ["replay", "fixtures", "--to", url];
  const replays = [await runCommand(argv), await runCommand(argv)];
  for (const { code, stdout, stderr } of replays) {
    expect(stdout).toContain(`✓ ${String(fixtures.length)} as expected`);
    expect(stdout).toMatch(/✓ {2}hostile\/stale +409 {2}stale +409 stale/);
    expect(code).toBe(0);
    expect(stderr).toBe("");
  }
});

test("with --same-ids a second replay is answered duplicate", async () => {
  const { url } = await receivingEndpoint();
  const alarm = folder.at("alarm-email-hacked.json");
  const argv = ["replay", alarm, "--to", url, "--same-ids"];
  await expectEnd(argv, { code: 0 });
  await expectEnd(argv, {
    code: 1,
    stdout: [
      /✗ {2}alarm-email-hacked +200 {2}duplicate +200 handled/,
      "✗ 0 as expected, 1 different",
    ],
  });
});

test("with --as-recorded a fixture is months old, and refused", async () => {
  const { url } = await receivingEndpoint();
  const alarm = folder.at("alarm-email-hacked.json");
  await expectEnd(
    `replay ${alarm} --to ${url} --as-recorded`,
    { code: 1, stdout: /409 {2}stale/ },
    {
      env: { GATEWAY_WEBHOOK_SECRET: undefined },
    },
  );
});

test("a fixture without an expectation is shown and not judged", async () => {
  const { url } = await receivingEndpoint();
  const { code, stdout } = await runCommand(`replay ${folder.at()} --to ${url} --json`);
  const { results, passed } = JSON.parse(stdout) as {
    results: { name: string; result: string; status: number }[];
    passed: boolean;
  };
  expect({ code, passed }).toEqual({ code: 0, passed: true });
  expect(results).toMatchObject([
    { name: "alarm-email-hacked", result: "as_expected", status: 200 },
    { name: "unjudged", result: "not_judged", status: 200 },
  ]);
  await expectEnd(`replay ${folder.at()} --to ${url}`, { stdout: "✓ 1 as expected, 1 not judged" });
});

test("a replay in which no fixture says what it expects proves nothing and fails", async () => {
  const { url } = await answeringEndpoint({ status: 500 });
  const argv = ["replay", folder.at("unjudged.json"), "--to", url];
  const { stdout } = await expectEnd(argv, {
    code: 1,
    stdout: "✗ 0 as expected, 1 not judged, so nothing was proven",
  });
  await expectEnd([...argv, "--json"], {
    json: {
      passed: false,
    },
  });
});

test("a fixture may expect only a status", async () => {
  const { url } = await receivingEndpoint();
  const alarm = folder.at("alarm-email-hacked.json");
  const fixture = JSON.parse(readFileSync(alarm, "utf8")) as object;
  const file = folder.write(
    "of-a-status.json",
    JSON.stringify({ ...fixture, expect: { status: 418 } }),
  );
  const { code, stdout } = await runCommand(`replay ${file} --to ${url}`);
  // Other tests send the whole folder.
  rmSync(file);
  expect(code).toBe(1);
  expect(stdout).toMatch(/✗ {2}of-a-status +200 {2}handled +418 +\d/);
});

test("replay says why fixtures differ for want of a handler, and --type leaves them out", async () => {
  const receiver = alarmReceiver(() => undefined, { now: Date.now });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const argv = ["replay", "fixtures", "--to", url];
  const events = fixtures.filter(
    ({ name, expect: { outcome } }) => name.startsWith("event-") && outcome === "handled",
  );
  const { code, stdout } = await expectEnd(argv, {
    code: 1,
    stdout: ` ${String(events.length)} no handler for delete_my_data_event: add one, or send only the other type with --type `,
  });
  await expectEnd([...argv, "--type", "new_alarm"], {
    code: 0,
    stdout: /✓ \d+ as expected\n/,
    never: "event-",
  });
});

test("replay of a fixture that the handler throws at names the log, and what a table may refuse", async () => {
  const body = '{"error":{"code":"HANDLER_FAILED"}}';
  const { url } = await answeringEndpoint({ status: 500, body });
  await expectEnd(`replay ${folder.at("alarm-email-hacked.json")} --to ${url}`, {
    stdout:
      " 1 the handler threw: its error is in the log of the receiver: if a table refused the fixture: npx identity-gateway-webhooks explain made-up",
  });
});

test("replay does not accuse another receiver that has odd deliveries sent again", async () => {
  const { url } = await answeringEndpoint({ status: 503 });
  const odd = ["byte-order-mark", "invalid-utf-8", "upper-case-hex", "not-json", "stale"];
  const files = `fixtures/hostile/{${odd.join()}}.json`;
  const { stdout } = await expectEnd(`replay ${files} --to ${url}`, {
    code: 0,
    stdout: "✓ 5 as expected",
  });
  const gone = await answeringEndpoint({ status: 400 });
  await expectEnd(`replay ${files} --to ${gone.url}`, {
    stdout: "   5  after 400 the gateway gives up for good",
  });
});

test("a fixture without an answer is a failure, also one without an expectation", async () => {
  // It takes connections and closes them at the request.
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.destroy());
  });
  const url = await serving(server);
  await expectEnd(`replay ${folder.at("unjudged.json")} --to ${url}`, {
    code: 1,
    stdout: [/unjudged +– {2}no answer/, /1 without an answer \(/],
  });
});

test("no listener at the URL, https to a port without TLS, and an untrusted certificate are one finding of replay", async () => {
  const silent = await silentUrl();
  const plain = (await receivingEndpoint()).url.replace("http", "https");
  const server = https.createServer(testCertificate, (req, res) => {
    req.resume().on("end", () => res.writeHead(409).end());
  });
  const untrusted = (await serving(server)).replace("http", "https");
  for (const [url, said] of [
    [silent, /^✗ no connection to http:.*ECONNREFUSED.* Start the endpoint/],
    [plain, /^✗ 127\.0\.0\.1:\d+ does not speak TLS Begin the URL with http:\/\//],
    [untrusted, /^✗ the certificate of 127\.0\.0\.1:\d+ is not trusted.*--insecure/],
  ] as const) {
    await expectEnd(`replay fixtures --to ${url}`, {
      code: 1,
      stdout: [said, / {2}No fixture was sent\.\n$/],
      never: "EPROTO",
    });
  }
  const argv = ["replay", folder.at(), "--to", untrusted, "--insecure", "--json"];
  expect(JSON.parse((await runCommand(argv)).stdout)).not.toHaveProperty("obstacle");
  await expectEnd(`replay ${folder.at()} --to ${silent} --json`, {
    json: {
      obstacle: { code: "unreachable" },
      results: [],
      passed: false,
    },
  });
});

test("--fixture-secret names another secret of the fixtures", async () => {
  const { url } = await receivingEndpoint();
  const alarm = folder.at("alarm-email-hacked.json");
  const argv = ["replay", alarm, "--to", url, "--fixture-secret", OTHER_SECRET];
  // With the wrong secret it counts as a fixture with a bad signature, and is sent unchanged.
  await expectEnd(argv, { stdout: /409 {2}stale/, never: OTHER_SECRET });
});

test("Ctrl-C in replay shows the fixtures that were sent", async () => {
  const { url, onRequest } = await answeringEndpoint({ status: 200 });
  const command = startCommand(["replay", "fixtures", "--to", url], { isTTY: true });
  onRequest((count) => {
    if (count === 4) command.interrupt();
  });

  expect(await command.exitCode).toBe(130);
  expect(command.stdout()).toContain("not sent");
  // The progress bar is removed.
  expect(command.stderr()).toMatch(/\d+\/\d+[^]*\r\u001b\[2K$/);
});
