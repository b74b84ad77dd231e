import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, runCommand, startCommand, type TestWorld } from "../support/cli/cli-io.js";
import { crmLogin } from "../../src/management/index.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";

const secret = {
  new_alarm: "whsec_of_the_alarms_0123456789",
  delete_my_data_event: "whsec_of_the_events_0123456789",
};
const folder = temporaryFolder();
const JSON_TYPE = { "content-type": "application/json" };
const FIXTURES = ["fixtures/alarm-*.json", "fixtures/event-data-*.json"];

/** The options with the file of each secret, and no secret in the environment. */
function files(): { readonly options: readonly string[]; readonly world: TestWorld } {
  const options = Object.entries(secret).flatMap(([type, text]) => {
    const file = folder.at(`${type}.secret`);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    return ["--secret-file", `${type}=${file}`];
  });
  return { options, world: { env: { GATEWAY_WEBHOOK_SECRET: undefined } } };
}

/** The environment of a partner with a variable for each type. */
const variables: TestWorld = {
  env: {
    GATEWAY_WEBHOOK_SECRET: undefined,
    GATEWAY_WEBHOOK_SECRET_NEW_ALARM: secret.new_alarm,
    GATEWAY_WEBHOOK_SECRET_DELETE_MY_DATA_EVENT: secret.delete_my_data_event,
  },
};

test("doctor with one secret says in one line that the other type has another", async () => {
  const { url } = await receivingEndpoint({ secret });
  for (const [own, other] of [
    ["new_alarm", "delete_my_data_event"],
    ["delete_my_data_event", "new_alarm"],
  ] as const) {
    const world = { env: { GATEWAY_WEBHOOK_SECRET: secret[own] } };
    const { code, stdout } = await runCommand(["doctor", url, "--json"], world);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      obstacle: {
        code: "secret",
        message: `the endpoint accepts ${own} and refuses ${other} (409 signature_mismatch), as it refuses any wrong secret`,
      },
      cases: [],
    });
    await expectEnd(runCommand(["doctor", url], world), {
      code: 1,
      stdout: `--secret-file ${other}=<file>`,
      never: Object.values(secret),
    });
    await expectEnd(runCommand(["doctor", url, "--type", own, "--only", "alarm"], world), {
      code: own === "new_alarm" ? 0 : 1,
    });
  }
});

test.each([
  ["a file for each type", files],
  ["a variable for each type", () => ({ options: [], world: variables })],
])("send signs each type with its own secret: %s", async (_, given) => {
  const { url, outcomes } = await receivingEndpoint({ secret });
  const { options, world } = given();
  for (const event of [[], ["--event", "DATA_REAPPEARED"], ["--follow-retries"]]) {
    await expectEnd(runCommand(["send", url, ...event, ...options], world), { code: 0 });
  }
  expect(outcomes()).toEqual(["handled", "handled", "handled"]);
});

test("send needs the secret of its own type alone", async () => {
  const { url } = await receivingEndpoint({ secret });
  const world = {
    env: {
      GATEWAY_WEBHOOK_SECRET: undefined,
      GATEWAY_WEBHOOK_SECRET_NEW_ALARM: secret.new_alarm,
    },
  };
  await expectEnd(runCommand(["send", url], world), { code: 0 });
  await expectEnd(runCommand(["send", url, "--event", "DATA_REAPPEARED"], world), {
    code: 2,
    stderr: "no secret for delete_my_data_event",
  });
  await expectEnd(runCommand(["doctor", url], world), {
    code: 2,
    stderr: "leave the type out with --type",
  });
});

test("replay signs each fixture with the secret of its type", async () => {
  const { url } = await receivingEndpoint({ secret });
  const { options, world } = files();
  const command = ["replay", ...FIXTURES, "--to", url, ...options];
  await expectEnd(runCommand(command, world), { code: 0 });
});

test("replay with one secret says in one line that the other type has another", async () => {
  const { url } = await receivingEndpoint({ secret });
  const world = { env: { GATEWAY_WEBHOOK_SECRET: secret.new_alarm } };
  await expectEnd(runCommand(["replay", ...FIXTURES, "--to", url], world), {
    code: 1,
    stdout: "the endpoint accepts new_alarm and refuses delete_my_data_event",
    never: "pass the endpoint's secret",
  });
});

test("explain names a delivery that is signed with the secret of the other type", async () => {
  const capture = async (signer: string): Promise<string> => {
    const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 1 });
    const { headers, body } = await signedDelivery({ event, secret: signer });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const file = folder.at("capture.txt");
    writeFileSync(file, `POST / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${String(body)}`);
    return file;
  };
  const { options, world } = files();
  const right = await capture(secret.delete_my_data_event);
  await expectEnd(runCommand(["explain", right, ...options], world), { code: 0 });
  const wrong = await capture(secret.new_alarm);
  await expectEnd(runCommand(["explain", wrong, ...options], world), {
    code: 1,
    stdout: "signed with the secret for new_alarm",
    never: Object.values(secret),
  });
});

test("listen takes a secret for each type, and forwards a sample signed with that of its type", async () => {
  const { url, outcomes } = await receivingEndpoint({ secret });
  const command = startCommand(
    ["listen", "--json", "--port", "0", "--page", "--forward", url],
    variables,
  );
  const [, page = ""] = await command.says(/"event":"page","url":"([^"]+)"/);
  const { origin, hash } = new URL(page);
  for (const sample of ["email_hacked", "DATA_REAPPEARED"]) {
    await fetch(`${origin}/send`, {
      method: "POST",
      headers: { authorization: `Bearer ${hash.slice(1)}`, "content-type": "application/json" },
      body: JSON.stringify({ sample }),
    });
  }
  expect(outcomes()).toEqual(["handled", "handled"]);
});

test("the local gateway signs each type with the secret that its webhook was registered with", async () => {
  const { url, outcomes } = await receivingEndpoint({ secret });
  const gateway = startCommand(["gateway", "--json", "--port", "0"]);
  const [, base = ""] = await gateway.says(/"url":"([^"]+)"/);
  const { options } = files();
  const { token } = await crmLogin({ baseUrl: base, credentials: { any: "login" } });
  const env = { GATEWAY_BASE_URL: base, GATEWAY_CRM_TOKEN: token };
  await expectEnd(
    runCommand(["webhooks", "register", url, ...options.slice(0, 2), "--type", "new_alarm"], {
      env,
    }),
    { code: 2, stderr: "--type new_alarm --secret-file <file>" },
  );
  for (const type of Object.keys(secret)) {
    const file = folder.at(`${type}.secret`);
    const argv = ["webhooks", "register", url, "--type", type, "--secret-file", file];
    await expectEnd(runCommand([...argv, "--wait", "1"], { env }), { code: 0 });
  }
  await expectEnd(runCommand(["webhooks", "check", url, ...options], { env }), { code: 0 });
  const rotate = ["webhooks", "rotate", url, "--next-file", folder.at("next"), ...options];
  await expectEnd(runCommand(rotate, { env }), { code: 2, stderr: "once for each, with --type" });
  for (const type of Object.keys(secret)) {
    await fetch(`${base}/desk/deliveries`, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify({ type }),
    });
  }
  await expect.poll(() => outcomes().filter((one) => one === "handled").length).toBe(2);
  expect(readFileSync(folder.at("new_alarm.secret"), "utf8").trim()).toBe(secret.new_alarm);
});
