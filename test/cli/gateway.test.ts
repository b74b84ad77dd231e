import { expect, test } from "vitest";
import { createManagementClient, crmLogin } from "../../src/management/index.js";
import { sampleAlarm } from "../../kit/index.js";
import { runCommand, startCommand, type RunningCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";

async function start(...argv: string[]): Promise<{ command: RunningCommand; baseUrl: string }> {
  const command = startCommand(["gateway", "--port", "0", ...argv]);
  const [, baseUrl = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+)/);
  return { command, baseUrl };
}

function deliverAt(baseUrl: string, body: string, type = "application/json"): Promise<Response> {
  const headers = { "content-type": type };
  return fetch(`${baseUrl}/desk/deliveries`, { method: "POST", headers, body });
}

const secret = "the-secret-of-this-desk";

test("gateway answers the routes, delivers to what is registered, and ends with Ctrl-C", async () => {
  const { command, baseUrl } = await start("--speed", "3600");
  const { url, handled } = await desk.receiver({ secret });
  const { token } = await crmLogin({ baseUrl, credentials: { any: "login" } });
  const client = createManagementClient({ baseUrl, token });
  await client.webhooks.create({ title: "alarms", url, type: "new_alarm", secret });
  const deliver = async (body: string) => (await deliverAt(baseUrl, body)).status;
  expect(await deliver('{"type":"new_alarm"}')).toBe(202);
  expect(await deliver('{"type":"delete_my_data_event"}')).toBe(202);
  await command.says(/acknowledged new_alarm/);
  expect(handled).toHaveLength(1);
  for (const wrong of ["", "[]", '{"type":"alarm"}', '{"alarm":1}']) {
    expect(await deliver(wrong)).toBe(422);
  }
  expect((await fetch(`${baseUrl}/desk/deliveries`)).status).toBe(422);
  const form = await deliverAt(baseUrl, '{"type":"new_alarm"}', "text/plain");
  expect(await form.json()).toMatchObject({ error: { code: "UNSUPPORTED_MEDIA_TYPE" } });
  const alarm = JSON.stringify({ alarm: sampleAlarm() });
  expect(await deliver(alarm)).toBe(202);
  expect(command.stdout()).not.toContain(secret);
  expect(await command.stop()).toBe(130);
  await expect(fetch(baseUrl)).rejects.toThrow();
});

test("gateway shows each delivery as a JSON line, also one that is lost", async () => {
  const { command, baseUrl } = await start("--json", "--url-check", "none", "--history-off");
  const { url } = await desk.server((_req, res) => res.writeHead(401).end());
  const { token } = await crmLogin({ baseUrl, credentials: {} });
  const client = createManagementClient({ baseUrl, token });
  await client.webhooks.create({ title: "alarms", url, type: "delete_my_data_event" });
  const body = '{"type":"delete_my_data_event"}';
  await deliverAt(baseUrl, body);
  await command.says(/"end":"given_up","attempts":1/);
  await expect(client.attempts.list(1)).rejects.toMatchObject({ code: "validation_failed" });
  expect(await command.stop()).toBe(130);
});

test("gateway has its switches as options, and JSON lines", async () => {
  const { command, baseUrl } = await start("--json", "--webhooks-off", "--legacy-throttling");
  expect(JSON.parse(command.stdout())).toEqual({ event: "listening", url: baseUrl });
  const { token } = await crmLogin({ baseUrl, credentials: {} });
  const client = createManagementClient({ baseUrl, token });
  await expect(client.webhooks.list()).rejects.toMatchObject({ code: "forbidden" });
  const taken = await runCommand(`gateway --port ${new URL(baseUrl).port}`);
  expect([taken.code, taken.stderr.includes("is not available")]).toEqual([2, true]);
  command.interrupt();
  await command.exitCode;
});
