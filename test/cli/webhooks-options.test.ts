import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { shapeOf } from "../../cli/webhooks/record-shape.js";
import { crmLogin, type ManagementClient } from "../../src/management/index.js";
import * as library from "../../src/index.js";
import { sampleAlarm } from "../../kit/index.js";
import { canaryAlarm, canariesIn } from "../support/canaries.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

beforeEach(() => {
  // For modules of `--module`, which cannot import the sources.
  vi.stubGlobal("library", library);
});

const SECRET = "the-secret-of-the-receiver-1";

/** A gateway with one receiver, and commands that log in by a file. */
async function setUp(receiverOptions: object = {}, gatewayOptions: object = {}) {
  const gateway = await desk.gateway({
    login: ({ user }) => user === "partner",
    ...gatewayOptions,
  });
  const receiver = await desk.receiver({ secret: SECRET, ...receiverOptions });
  const file = folder.write("login.json", '{"user":"partner"}', 0o600);
  const login = `--base-url ${gateway.baseUrl} --login-file ${file}`;
  const run = (commandLine: string, ...more: readonly string[]) => {
    const [name = "", ...options] = `${commandLine} ${login}`.split(" ");
    const env = { GATEWAY_WEBHOOK_SECRET: SECRET };
    return runCommand(["webhooks", name, receiver.url, ...options, ...more], { env });
  };
  return { ...gateway, ...receiver, login, run };
}

/** The URL of a webhook that a firewall refuses every delivery to. */
async function behindFirewall({ webhooks }: ManagementClient): Promise<string> {
  const { url } = await desk.server((req, res) => {
    res.writeHead(req.method === "GET" ? 200 : 403).end();
  });
  await webhooks.create({ title: "a", url, type: "new_alarm", secret: SECRET });
  return url;
}

const quick = "--in-a-row 2 --wait 0 --type new_alarm";

test("register shows what is wrong with the webhooks after it, and exits 1", async () => {
  const { client, run } = await setUp();
  const old = await desk.receiver({ secret: SECRET });
  await client.webhooks.create({ title: "a", url: old.url, type: "new_alarm", secret: SECRET });
  folder.write("secret.txt", SECRET, 0o600);
  const registered = await run(`register --secret-file ${folder.at("secret.txt")} ${quick}`);
  expect(registered.code).toBe(1);
  expect(registered.stdout).toContain("created webhook 2 for new_alarm");
  expect(registered.stdout).toContain("second_webhook, new_alarm, webhook 1");
  const again = await run(`register --secret-file ${folder.at("secret.txt")} ${quick} --json`);
  expect(JSON.parse(again.stdout)).toMatchObject({
    existing: [{ id: "2" }],
    passed: false,
    findings: [{ code: "second_webhook", webhookId: "1" }],
  });
});

describe("reconcile", () => {
  const fields = "deliveryId=delivery_id,status=status,at=created_at,body=body";
  const argv = `--since 1h --fields ${fields}`;

  test("of a URL without a webhook fails, and a since in the future is refused", async () => {
    const { run } = await setUp();
    await expectEnd(run(`reconcile ${argv}`), { code: 1, stderr: "(not_found)" });
    await expectEnd(run(`history --fields ${fields}`), { code: 1, stderr: "(not_found)" });
    const later = await run(`reconcile --since 2999-01-01T00:00:00Z --fields ${fields}`);
    expect([later.code, later.stderr]).toEqual([2, expect.stringContaining("in the future")]);
  });

  test("tells what is wrong with a module, in one line and without its message", async () => {
    const { api, client, login } = await setUp();
    const url = await behindFirewall(client);
    await api.twin.deliver({ alarm: sampleAlarm() });
    const recover = "internal: { recover: () => {} }";
    const modules = [
      ["export const receiver = {};", "a module that exports receiver", ["--recover"]],
      [`export const receiver = { ${recover} };`, "a module that exports receiver", ["--recover"]],
      ['export const isCompleted = () => { throw new Error("canary"); };', "isCompleted of", []],
      ["export const readAttempt = {};", "readAttempt of", []],
    ] as const;
    for (const [index, [code, message, option]] of modules.entries()) {
      const module = folder.write(`module-${String(index)}.mjs`, code);
      const given = code.includes("readAttempt") ? "--since 1h" : argv;
      const options = [given, "--module", module, ...option, login].join(" ");
      const { code: exit, stderr } = await runCommand(`webhooks reconcile ${url} ${options}`);
      expect({ exit, lines: stderr.trimEnd().split("\n").length }).toEqual({ exit: 2, lines: 1 });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain("canary");
    }
  });

  test("recovers nothing that is older than the store remembers: it would be handled again", async () => {
    const { run } = await setUp();
    const module = folder.write(
      "retention.mjs",
      `const { createWebhookReceiver } = globalThis.library;
       export const receiver = createWebhookReceiver({
         ...{ secret: "any-secret-will-do-here", logger: false, retentionMs: 96 * 3_600_000 },
         handlers: { new_alarm: () => undefined },
       });`,
    );
    const recover = `--fields ${fields} --module ${module} --recover`;
    // The last attempt may come 36 hours after the one that was handled.
    const late = await run(`reconcile --since 61h ${recover}`);
    expect(late.code).toBe(2);
    expect(late.stderr).toContain("further back than 60 hours");
    const timely = await run(`reconcile --since 59h ${recover}`);
    expect(timely.stderr).toContain("(not_found)");
  });

  test("reports what a receiver of one's own throws as lost, and no bug of this program", async () => {
    const { api, client, login } = await setUp();
    const url = await behindFirewall(client);
    await api.twin.deliver({ alarm: sampleAlarm() });
    const recoverWith = async (name: string, code: string) => {
      folder.write(name, code);
      const options = `${argv} --module ${folder.at(name)} --recover --json ${login}`;
      const ended = await runCommand(`webhooks reconcile ${url} ${options}`);
      expect(ended.stdout + ended.stderr).not.toContain("canary");
      return { ...ended, json: JSON.parse(ended.stdout) as object };
    };
    const throws = 'throw new RangeError("canary")';
    const recovering = await recoverWith(
      "recover.mjs",
      `export const receiver = { internal: { async recover() { ${throws} } }, async drain() {} };`,
    );
    expect(recovering).toMatchObject({ code: 1, json: { missing: [{ isGivenUp: true }] } });
    expect(recovering.stderr).toBe("recover of --module failed 1 time: RangeError\n");
    const draining = await recoverWith(
      "drain.mjs",
      `export const receiver = new (class {
         outcome = "handled";
         internal = { recover: async () => ({ outcome: this.outcome }) };
         async drain() { ${throws} }
       })();`,
    );
    expect(draining).toMatchObject({ code: 1, json: { recovered: [{}], passed: false } });
    expect(draining.stderr).toBe("drain of --module failed: RangeError\n");
  });

  test("that fails halfway waits for the handlers it started, so that the next run repeats none", async () => {
    const { api, client, login } = await setUp();
    const url = await behindFirewall(client);
    for (let sent = 0; sent < 2; sent++) await api.twin.deliver({ alarm: sampleAlarm() });
    // Two runs, each with a process of its own in real life, share the store.
    folder.write(
      "store.mjs",
      `const { memoryStore } = globalThis.library;
       export const store = memoryStore();
       export const handled = [];`,
    );
    const moduleOf = (isCompleted: string) =>
      `const { createWebhookReceiver } = globalThis.library;
       import { store, handled } from "./store.mjs";
       // The first handler goes past its limit, and ends only once the receiver drains.
       let release;
       const draining = new Promise((resolve) => (release = resolve));
       const own = createWebhookReceiver({
         ...{ secret: "any-secret-will-do-here", logger: false, store, handlerTimeoutMs: 1 },
         handlers: {
           async new_alarm(_alarm, { id }) {
             if (handled.length === 0) await draining;
             handled.push(id);
           },
         },
       });
       let asked = 0;
       export const receiver = { ...own, drain: () => (release(), own.drain()) };
       export const isCompleted = () => { ${isCompleted} };`;
    const run = (name: string) => {
      const options = `${argv} --module ${folder.at(name)} --recover ${login}`;
      return runCommand(`webhooks reconcile ${url} ${options}`);
    };
    folder.write("failing.mjs", moduleOf('if (++asked > 1) throw new Error("no");'));
    await expectEnd(run("failing.mjs"), { code: 2, stderr: "isCompleted of" });
    const { handled } = (await import(folder.at("store.mjs"))) as { handled: readonly string[] };
    expect(handled).toHaveLength(1);
    folder.write("next.mjs", moduleOf(""));
    const next = await run("next.mjs");
    expect(next.stdout).toContain("1 handled before");
    expect(new Set(handled).size).toBe(handled.length);
  });
});

test("the login is by a file of its fields, or by a token in a file, also in the legacy format", async () => {
  const { baseUrl, url, run } = await setUp();
  const registered = await run(
    `register --json ${quick} --title alarms --secret-file ${fileWith(SECRET)}`,
  );
  expect(registered.code).toBe(0);
  expect(JSON.parse(registered.stdout)).toMatchObject({
    result: "registered",
    created: [{ id: "1", type: "new_alarm" }],
    existing: [],
  });
  const credentials = { user: "partner" };
  folder.write("token.txt", `${(await crmLogin({ baseUrl, credentials })).token}\r\n`);
  const byToken = `--base-url ${baseUrl} --token-file ${folder.at("token.txt")} --legacy`;
  const argv = `webhooks check ${url} --type new_alarm ${byToken}`;
  const checked = await runCommand(argv, { env: { GATEWAY_WEBHOOK_SECRET: "" } });
  expect(checked.code).toBe(0);
  expect(checked.stdout.replaceAll(/\s+/g, " ")).toContain(
    "~ Nothing is wrong. The secret was not checked: none was given. So by whom the URL is answered is not known",
  );
  expect((await runCommand(`${argv} --secret a --secret b`)).code).toBe(2);
});

describe("a proof that fails", () => {
  test("is shown with the last refusal and the fix", async () => {
    const { run, client, url } = await setUp();
    await client.webhooks.create({ title: "a", url, type: "new_alarm", secret: SECRET });
    const plain = await run(`rotate --next-file ${folder.at("next.txt")} ${quick}`);
    expect(plain.code).toBe(1);
    expect(plain.stdout).toContain("signature_mismatch, status 409");
    expect(plain.stdout).toContain("Deploy the secret to every replica");
    const json = await run(`rotate --next-file ${folder.at("next.txt")} ${quick} --json`);
    expect(JSON.parse(json.stdout)).toMatchObject({ result: "not_accepted", passed: false });
    const twice = await run(`rotate --next-file ${folder.at("next.txt")} --secret a --secret b`);
    expect([twice.code, twice.stderr.includes("the one in use")]).toEqual([2, true]);
  });

  test("names a receiver that accepts any signature, and instances that were missing", async () => {
    const open = await setUp({ secret: undefined, acceptUnsignedDeliveries: true });
    await expectEnd(open.run(`register ${quick}`), { code: 1, stdout: "accepts any signature" });
    const { run } = await setUp();
    const instances = "--instance-header x-instance --instances 2";
    const missing = await run(`register ${quick} ${instances} --secret-file ${fileWith(SECRET)}`);
    expect([missing.code, missing.stdout.includes("instances were missing")]).toEqual([1, true]);
    const gone = await run(
      `register ${quick} --replica http://127.0.0.1:9/ --secret-file ${fileWith(SECRET)}`,
    );
    expect([gone.code, gone.stdout.includes("unreachable")]).toEqual([1, true]);
  });

  test("with a URL that refuses a GET is a result in JSON too", async () => {
    const { login } = await setUp();
    const { url } = await desk.server((_req, res) => res.writeHead(404).end());
    const refused = `webhooks register ${url} ${login} --secret-file ${fileWith(SECRET)}`;
    const json = await runCommand(`${refused} --json`);
    expect(JSON.parse(json.stdout)).toMatchObject({ result: "unreachable", status: 404 });
    expect((await runCommand(refused)).stdout).toContain("status 404");
  });
});

describe("the files of a rotation", () => {
  test("are refused when they are damaged, belong elsewhere or cannot be written", async () => {
    const { run, client, url } = await setUp();
    await client.webhooks.create({ title: "a", url, type: "new_alarm", secret: SECRET });
    const next = fileWith("the-next-secret-0123456789");
    const rotate = () => run(`rotate --next-file ${next} ${quick}`);
    writeFileSync(`${next}.state.json`, "{");
    expect((await rotate()).stderr).toContain("the state beside it cannot be read");
    writeFileSync(`${next}.state.json`, '{"version":2}');
    expect((await rotate()).stderr).toContain("the state beside it cannot be read");
    writeFileSync(`${next}.state.json`, '{"version":1,"switchedAtMs":1,"url":"http://other/"}');
    expect((await rotate()).stderr).toContain("belongs to the rotation of another URL");
    // A later run proves that the receivers still have the new secret.
    writeFileSync(`${next}.state.json`, JSON.stringify({ version: 1, switchedAtMs: 1, url }));
    expect(await rotate()).toMatchObject({ code: 1 });
    mkdirSync(folder.at("folder"));
    const inFolder = await run(`rotate --next-file ${folder.at("folder")} ${quick}`);
    expect([inFolder.code, inFolder.stderr.includes("is a folder")]).toEqual([2, true]);
    mkdirSync(folder.at("new.txt.tmp"));
    const taken = await run(`rotate --next-file ${folder.at("new.txt")} ${quick}`);
    expect([taken.code, taken.stderr]).toEqual([
      2,
      expect.stringContaining(
        "there is a folder whose name is that of the file with .tmp at its end",
      ),
    ]);
    const nowhere = await run(`rotate --next-file ${folder.at("none/next.txt")} ${quick}`);
    expect([nowhere.code, nowhere.stderr.includes("no such file")]).toEqual([2, true]);
  });

  test("hold what is needed to watch, also when no metrics can be read", async () => {
    const next = fileWith("the-next-secret-0123456789");
    const secrets = ["the-next-secret-0123456789", SECRET];
    const { run, client, url } = await setUp({ secret: secrets });
    await client.webhooks.create({ title: "a", url, type: "new_alarm", secret: SECRET });
    const metrics = await desk.server((_req, res) => res.end("no metrics"));
    const watch = `--metrics ${metrics.url} --metrics http://127.0.0.1:9/ --once`;
    const looked = await run(`rotate --next-file ${next} ${quick} ${watch} --json`);
    expect(JSON.parse(looked.stdout)).toMatchObject({
      result: "no_metrics",
      watch: { matches: [null, null] },
      passed: false,
    });
    expect(readFileSync(`${next}.state.json`, "utf8")).not.toContain("secret-0123456789");
    const again = await run(`rotate --next-file ${next} ${quick} --json`);
    expect(JSON.parse(again.stdout)).toMatchObject({ result: "switched", passed: true });
  });
});

describe("the history", () => {
  const FIELDS = "deliveryId=delivery_id,status=status,at=created_at";

  test("counts what --fields cannot read, and shows an attempt without an answer", async () => {
    const { api, client, url, run, close } = await setUp({}, { retry: { attempts: 1 } });
    const { id } = await client.webhooks.create({
      title: "a",
      url,
      type: "new_alarm",
      secret: SECRET,
    });
    await expectEnd(run(`history --fields ${FIELDS}`), { code: 1, stdout: "0 of 0 attempts" });
    expect((await run("history --shape --json")).stdout).toContain('"shape": []');
    await close();
    await api.twin.deliver({ alarm: sampleAlarm() });
    await expectEnd(run(`history --fields ${FIELDS}`), { code: 0, stdout: "–" });
    const wrong = await run(`history --fields ${FIELDS.replace("created_at", "title")} --json`);
    expect(JSON.parse(wrong.stdout)).toMatchObject({ attempts: [], unreadable: 1, passed: false });
    const table = await run(`history --fields ${FIELDS.replace("created_at", "title")}`);
    expect(table.stdout).toContain("correct --fields");
    const wrongFields = FIELDS.replace("created_at", "title");
    const since = ["--since", "2026-01-01 00:00:00"];
    const reconciled = await run(`reconcile --fields ${wrongFields}`, ...since);
    expect([reconciled.code, reconciled.stdout.includes("cannot be read")]).toEqual([1, true]);
    expect((await run("history --shape --json")).stdout).toContain('"path": "delivery_id"');
    await client.webhooks.update(id, { enable_requests_history: false, secret: SECRET });
    const off = await run(`reconcile --since 1h --fields ${FIELDS}`);
    expect([off.code, off.stdout.includes("stores no history")]).toEqual([1, true]);
  });

  test("its shape has keys and types of any record, and nothing that could name a person", () => {
    const record = {
      id: 7,
      ok: true,
      none: null,
      at: "2026-10-09T11:00:00Z",
      tags: ["a", "b"],
      empty: [],
      request: { headers: { "X-Webhook-Id": "a-1", Authorization: "Bearer canary-token-9988" } },
      payload: { alarm: canaryAlarm() },
      text: JSON.stringify(canaryAlarm()),
      "canary.person@mail.example": { "19000101-9988": 1 },
    };
    const { lines, dropped } = shapeOf(record);
    const types = Object.fromEntries(lines.map(({ path: at, type }) => [at, type]));
    expect(types).toMatchObject({
      id: "number",
      ok: "boolean",
      none: "null",
      at: "string",
      tags: "list of 2",
      "tags.0": "string",
      empty: "list of 0",
      request: "object",
      text: "string",
      "request.headers.X-Webhook-Id": "string",
      "payload.alarm.account_id": "number",
    });
    expect(dropped).toBeGreaterThan(0);
    expect(canariesIn(JSON.stringify(lines))).toEqual([]);
    expect(shapeOf(undefined).lines).toEqual([{ path: "", type: "null", placeholder: null }]);
  });
});

/** A file with a secret. */
function fileWith(secret: string): string {
  return folder.write("secret.txt", `${secret}\n`);
}
