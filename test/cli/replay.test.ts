import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { beforeEach, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { expectEnd, startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { fixtures } from "../support/fixtures.js";
import { serving, servingTls } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const OTHER_SECRET = "whsec_other_0123456789abcdef";
const ALARM = "fixtures/alarm-email-hacked.json";
let unjudged: string;

/** A fixture with another expectation. */
function expecting(name: string, expected?: object): string {
  const fixture = JSON.parse(readFileSync(ALARM, "utf8")) as object;
  return folder.write(name, JSON.stringify({ ...fixture, expect: expected }));
}

beforeEach(() => {
  folder.write("alarm-email-hacked.json", readFileSync(ALARM));
  unjudged = expecting("unjudged.json");
});

test("replay: every published fixture is answered as it expects, also the second time", async () => {
  const { url } = await receivingEndpoint();
  const all = `✓ ${String(fixtures.length)} as expected`;
  const stdout = [all, /✓ {2}hostile\/stale +409 {2}stale +409 stale/];
  for (let times = 0; times < 2; times += 1) {
    await expectEnd(`replay fixtures --to ${url}`, { code: 0, stdout, stderr: "" });
  }
});

test("with --same-ids a second replay is answered duplicate", async () => {
  const { url } = await receivingEndpoint();
  const command = `replay ${ALARM} --to ${url} --same-ids`;
  await expectEnd(command, { code: 0 });
  const duplicate = /✗ {2}alarm-email-hacked +200 {2}duplicate +200 handled/;
  await expectEnd(command, { code: 1, stdout: [duplicate, "✗ 0 as expected, 1 different"] });
});

test("with --as-recorded a fixture is months old, and refused", async () => {
  const { url } = await receivingEndpoint();
  const env = { GATEWAY_WEBHOOK_SECRET: undefined };
  const stale = { code: 1, stdout: /409 {2}stale/ };
  await expectEnd(`replay ${ALARM} --to ${url} --as-recorded`, stale, { env });
});

test("a fixture without an expectation is shown and not judged", async () => {
  const { url } = await receivingEndpoint();
  const results = [
    { name: "alarm-email-hacked", result: "as_expected", status: 200 },
    { name: "unjudged", result: "not_judged", status: 200 },
  ];
  const command = `replay ${folder.at()} --to ${url}`;
  await expectEnd(`${command} --json`, { code: 0, json: { results, passed: true } });
  await expectEnd(command, { stdout: "✓ 1 as expected, 1 not judged" });
});

test("a replay in which no fixture says what it expects proves nothing and fails", async () => {
  const { url } = await answeringEndpoint({ status: 500 });
  const stdout = "✗ 0 as expected, 1 not judged, so nothing was proven";
  await expectEnd(`replay ${unjudged} --to ${url}`, { code: 1, stdout });
  await expectEnd(`replay ${unjudged} --to ${url} --json`, { json: { passed: false } });
});

test("a fixture may expect only a status", async () => {
  const { url } = await receivingEndpoint();
  const file = expecting("of-a-status.json", { status: 418 });
  const stdout = /✗ {2}of-a-status +200 {2}handled +418 +\d/;
  await expectEnd(`replay ${file} --to ${url}`, { code: 1, stdout });
});

test("replay says why fixtures differ for want of a handler, and --type leaves them out", async () => {
  const receiver = alarmReceiver(() => undefined, { now: Date.now });
  const url = await serving(http.createServer(nodeHandler(receiver)));
  const events = fixtures.filter(
    ({ name, expect: { outcome } }) => name.startsWith("event-") && outcome === "handled",
  );
  const stdout = ` ${events.length} no handler for delete_my_data_event: add one, or send only the other type with --type `;
  await expectEnd(`replay fixtures --to ${url}`, { code: 1, stdout });
  const alarms = { code: 0, stdout: /✓ \d+ as expected\n/, never: "event-" };
  await expectEnd(`replay fixtures --to ${url} --type new_alarm`, alarms);
});

test("replay of a fixture that the handler throws at names the log, and what a table may refuse", async () => {
  const body = '{"error":{"code":"HANDLER_FAILED"}}';
  const { url } = await answeringEndpoint({ status: 500, body });
  const stdout =
    " 1 the handler threw: its error is in the log of the receiver: if a table refused the fixture: npx identity-gateway-webhooks explain made-up";
  await expectEnd(`replay ${ALARM} --to ${url}`, { stdout });
});

test("a fixture without an answer is a failure, also one without an expectation", async () => {
  // It takes connections and closes them at the request.
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.destroy());
  });
  const stdout = [/unjudged +– {2}no answer/, /1 without an answer \(/];
  await expectEnd(`replay ${unjudged} --to ${await serving(server)}`, { code: 1, stdout });
});

test("no listener is one finding of replay, and --insecure takes an untrusted certificate", async () => {
  const silent = await silentUrl();
  const untrusted = await servingTls((req, res) => {
    req.resume().on("end", () => res.writeHead(409).end());
  });
  const stdout = [/^✗ no connection to http:.*ECONNREFUSED/, / {2}No fixture was sent\.\n$/];
  await expectEnd(`replay fixtures --to ${silent}`, { code: 1, stdout });
  const json = { obstacle: { code: "unreachable" }, results: [], passed: false };
  await expectEnd(`replay ${ALARM} --to ${silent} --json`, { json });
  const insecure = `replay ${ALARM} --to ${untrusted} --insecure --json`;
  await expectEnd(insecure, { never: '"obstacle"' });
});

test("--fixture-secret names another secret of the fixtures", async () => {
  const { url } = await receivingEndpoint();
  // With the wrong secret it counts as a fixture with a bad signature, and is sent unchanged.
  const expected = { stdout: /409 {2}stale/, never: OTHER_SECRET };
  await expectEnd(`replay ${ALARM} --to ${url} --fixture-secret ${OTHER_SECRET}`, expected);
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
