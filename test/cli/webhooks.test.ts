import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { createStyle, type Output } from "../../cli/terminal/command-io.js";
import { writeFindings } from "../../cli/webhooks/report-lines.js";
import { finding } from "../../src/management/webhook-findings.js";

const folder = temporaryFolder();

const FIELDS = "deliveryId=delivery_id,status=status,at=created_at,body=body,attemptId=id";
const SECRET = "canary-current-secret-0123456789";
const NEXT = "the-next-secret-0123456789";
const quick = "--in-a-row 2 --wait 0 --type new_alarm";

/** A gateway with one receiver, and commands that are logged in by their environment. */
async function setUp(receiverOptions: object = {}) {
  const gateway = await desk.gateway();
  const receiver = await desk.receiver({ secret: SECRET, ...receiverOptions });
  const env = await gateway.environment(SECRET);
  const run = (commandLine: string) => {
    const [name = "", ...options] = commandLine.split(" ");
    return runCommand(["webhooks", name, receiver.url, ...options], { env });
  };
  return { ...gateway, ...receiver, env, run };
}

/** A file with a secret. */
function fileWith(secret: string): string {
  return folder.write("secret.txt", `${secret}\n`, 0o600);
}

function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}

/** The lines that do not fit a terminal, except for paths and commands, which are not broken. */
function wideLines(shown: string): readonly string[] {
  const lines = stripVTControlCharacters(shown).split("\n");
  return lines.filter(
    (line) => line.length > 80 && !line.startsWith('      "') && !line.includes(folder.at()),
  );
}

test("register, check, rotate, history and reconcile work at 80 columns and show no token or secret", async () => {
  const { client, deliver, environment } = await desk.gateway();
  const { url, secrets, handled, metrics } = await desk.replicas(4, SECRET);
  const world = { env: await environment(SECRET), isTTY: true, columns: 80 };
  const shown: string[] = [];
  const errors: string[] = [];
  const ran = async (
    [name = "", ...options]: readonly string[],
    expected: Parameters<typeof expectEnd>[1],
  ) => {
    const argv = ["webhooks", name, url, ...options.flatMap((option) => option.split(" "))];
    const ended = await expectEnd(argv, expected, world);
    shown.push(ended.stdout);
    errors.push(ended.stderr);
  };
  const inARow = "--in-a-row 8 --wait 30";

  // The receiver has the secret already, as after a deploy.
  const register = ["register", "--secret-file", fileWith(SECRET), inARow];
  const created = "created webhook 1 for new_alarm";
  await ran(register, { code: 0, stdout: created, stderr: "" });
  await ran(register, { code: 1, stdout: "was there before" });

  await ran(["check"], { code: 0, stdout: "Nothing is wrong" });
  await client.webhooks.update(2, { enable_requests_history: false, secret: SECRET });
  const finding = { code: "history_off", type: "delete_my_data_event", webhookId: "2" };
  await ran(["check", "--json"], { code: 1, json: { findings: [finding] } });
  await ran(["check"], { stdout: "history_off" });
  await client.webhooks.update(2, { enable_requests_history: true, secret: SECRET });

  const nextFile = folder.at("next.txt");
  const rotate = ["rotate", "--next-file", nextFile];
  const rotating = startCommand(
    `webhooks rotate ${url} --next-file ${nextFile} ${inARow}`.split(" "),
    world,
  );
  await rotating.says(/2\/5/);
  const next = readFileSync(nextFile, "utf8").trim();
  expect(next).toMatch(/^[0-9a-f]{64}$/);
  expect(modeOf(nextFile)).toBe(0o600);
  for (const list of secrets) list.unshift(next);
  expect(await rotating.exitCode).toBe(0);
  shown.push(rotating.stdout());
  errors.push(rotating.stderr());
  expect(modeOf(`${nextFile}.state.json`)).toBe(0o600);
  const watch = metrics.map((one) => `--metrics ${one}`);
  await ran([...rotate, ...watch, "--once"], { code: 1, stdout: "4/5" });
  await ran(["history", "--shape"], { code: 1 });
  // The watch wants a delivery with the new secret.
  const first = await deliver();
  expect(first.end).toBe("acknowledged");
  const quiet = "--quiet 1 --look-every 1";
  await ran([...rotate, ...watch, quiet], { code: 0, stdout: "remove it" });
  // Without a look at the metrics no later run says that it is over.
  await ran(rotate, { code: 0, never: "remove it from" });
  for (const list of secrets) list.pop();

  const second = await deliver();
  expect(second.end).toBe("acknowledged");
  expect(handled().toSorted()).toEqual([first.id, second.id].toSorted());
  const never = [second.id, "account_id"];
  await ran(["history", "--shape"], { code: 0, stdout: /delivery_id\s+string/, never });
  const history = ["history", "--fields", FIELDS];
  await ran(history, { code: 0, stdout: second.id });
  await ran([...history, "--json"], { never: 'alarm\\"' });
  await ran(["reconcile", "--since 1h", "--fields", FIELDS], { code: 0 });

  const all = shown.join("\n");
  const { GATEWAY_CRM_TOKEN: token } = world.env;
  for (const secret of [token, SECRET, next]) expect(all + errors.join("")).not.toContain(secret);
  expect(wideLines(all)).toEqual([]);
});

describe("register", () => {
  test("makes a secret of its own, shows it once, and creates nothing while no one has it", async () => {
    const { client, env, run } = await setUp({ secret: "the-secret-of-no-one" });
    const made = folder.at("new.txt");
    const shown = await expectEnd(run("register --wait 0 --in-a-row 1"), { code: 1 });
    expect(shown.stdout.match(/\b[0-9a-f]{64}\b/g)).toHaveLength(1);
    const filed = await expectEnd(run(`register --wait 0 --secret-file ${made} --json`), {
      code: 1,
      json: { result: "secret_not_accepted", passed: false },
    });
    expect(filed.stdout).not.toContain(readFileSync(made, "utf8").trim());
    expect(modeOf(made)).toBe(0o600);
    expect(await client.webhooks.list()).toEqual([]);
    const gone = `webhooks register http://127.0.0.1:9/ --secret-file ${made}`;
    await expectEnd(gone, { code: 1, stdout: "does not answer a GET" }, { env });
  });

  test("shows what is wrong with the webhooks after it, and exits 1", async () => {
    const { register, run } = await setUp();
    const old = await desk.receiver({ secret: SECRET });
    await register(old.url, SECRET);
    const command = `register --secret-file ${fileWith(SECRET)} ${quick}`;
    await expectEnd(run(command), {
      code: 1,
      stdout: ["created webhook 2 for new_alarm", "second_webhook, new_alarm, webhook 1"],
    });
    const findings = [{ code: "second_webhook", webhookId: "1" }];
    const json = { existing: [{ id: "2" }], passed: false, findings };
    await expectEnd(run(`${command} --json`), { json });
  });

  test("names a receiver that accepts any signature, and instances that were missing", async () => {
    const open = await setUp({ secret: undefined, acceptUnsignedDeliveries: true });
    await expectEnd(open.run(`register ${quick}`), { code: 1, stdout: "accepts any signature" });
    const { run } = await setUp();
    const register = `register ${quick} --secret-file ${fileWith(SECRET)}`;
    const instances = run(`${register} --instance-header x-instance --instances 2`);
    await expectEnd(instances, { code: 1, stdout: "instances were missing" });
    const gone = run(`${register} --replica http://127.0.0.1:9/`);
    await expectEnd(gone, { code: 1, stdout: "unreachable" });
  });

  test("with a URL that refuses a GET is a result in JSON too", async () => {
    const { env } = await setUp();
    const { url } = await desk.server((_req, res) => res.writeHead(404).end());
    const refused = `webhooks register ${url} --secret-file ${fileWith(SECRET)}`;
    const json = { result: "unreachable", status: 404 };
    await expectEnd(`${refused} --json`, { json }, { env });
    await expectEnd(refused, { stdout: "status 404" }, { env });
  });
});

test("the login is by a file of its fields, or by a token in a file, also in the legacy format", async () => {
  const { baseUrl, environment } = await desk.gateway({
    login: ({ user }) => user === "partner",
  });
  const { url } = await desk.receiver({ secret: SECRET });
  const login = folder.write("login.json", '{"user":"partner"}', 0o600);
  const byFile = `--base-url ${baseUrl} --login-file ${login}`;
  const made = `--title alarms --secret-file ${fileWith(SECRET)}`;
  await expectEnd(`webhooks register ${url} --json ${quick} ${made} ${byFile}`, {
    code: 0,
    json: { result: "registered", created: [{ id: "1", type: "new_alarm" }], existing: [] },
  });
  const { GATEWAY_CRM_TOKEN: token } = await environment(SECRET);
  const byToken = `--base-url ${baseUrl} --token-file ${folder.write("token.txt", `${token}\r\n`)}`;
  const check = `webhooks check ${url} --type new_alarm ${byToken} --legacy`;
  const stdout =
    "~ Nothing is wrong. The secret was not checked: none was given. So by whom the URL is answered is not known";
  await expectEnd(check, { code: 0, stdout }, { env: { GATEWAY_WEBHOOK_SECRET: "" } });
  await expectEnd(`${check} --secret a --secret b`, { code: 2 });
});

describe("rotate", () => {
  test("shows a proof that fails with the last refusal and the fix", async () => {
    const { run, register, url } = await setUp();
    await register(url, SECRET);
    const rotate = `rotate --next-file ${folder.at("next.txt")}`;
    await expectEnd(run(`${rotate} ${quick}`), {
      code: 1,
      stdout: ["signature_mismatch, status 409", "Deploy the secret to every replica"],
    });
    const json = { result: "not_accepted", passed: false };
    await expectEnd(run(`${rotate} ${quick} --json`), { json });
    const twice = run(`${rotate} --secret a --secret b`);
    await expectEnd(twice, { code: 2, stderr: "several secrets given" });
  });

  test("refuses files that are damaged, belong elsewhere or cannot be written", async () => {
    const { run, register, url } = await setUp();
    await register(url, SECRET);
    const next = fileWith(NEXT);
    const rotate = (file: string) => run(`rotate --next-file ${file} ${quick}`);
    for (const [state, stderr] of [
      ["{", "the state beside it cannot be read"],
      ['{"version":2}', "the state beside it cannot be read"],
      ['{"version":1,"switchedAtMs":1,"url":"http://other/"}', "the rotation of another URL"],
    ] as const) {
      writeFileSync(`${next}.state.json`, state);
      await expectEnd(rotate(next), { code: 2, stderr });
    }
    // A later run proves that the receivers still have the new secret.
    writeFileSync(`${next}.state.json`, JSON.stringify({ version: 1, switchedAtMs: 1, url }));
    await expectEnd(rotate(next), { code: 1 });
    mkdirSync(folder.at("folder"));
    await expectEnd(rotate(folder.at("folder")), { code: 2, stderr: "is a folder" });
    mkdirSync(folder.at("new.txt.tmp"));
    const taken = "there is a folder whose name is that of the file with .tmp at its end";
    await expectEnd(rotate(folder.at("new.txt")), { code: 2, stderr: taken });
    await expectEnd(rotate(folder.at("none/next.txt")), { code: 2, stderr: "no such file" });
  });

  test("remembers what it needs to watch, also when no metrics can be read", async () => {
    const { run, register, url } = await setUp({ secret: [NEXT, SECRET] });
    const next = fileWith(NEXT);
    await register(url, SECRET);
    const metrics = await desk.server((_req, res) => res.end("no metrics"));
    const watch = `--metrics ${metrics.url} --metrics http://127.0.0.1:9/ --once`;
    await expectEnd(run(`rotate --next-file ${next} ${quick} ${watch} --json`), {
      json: { result: "no_metrics", watch: { matches: [null, null] }, passed: false },
    });
    expect(readFileSync(`${next}.state.json`, "utf8")).not.toContain("secret-0123456789");
    const json = { result: "switched", passed: true };
    await expectEnd(run(`rotate --next-file ${next} ${quick} --json`), { json });
  });
});

describe("a wrong use", () => {
  const ENDPOINT = "http://127.0.0.1:9/hook";
  const NO_LOGIN = { GATEWAY_BASE_URL: "http://127.0.0.1:9" };
  const LOGIN = { ...NO_LOGIN, GATEWAY_CRM_TOKEN: "canary-token-0123456789" };

  test.each([
    [`check ${ENDPOINT}`, {}, "no gateway: set GATEWAY_BASE_URL"],
    [`check ${ENDPOINT}`, NO_LOGIN, "no CRM token: set GATEWAY_CRM_TOKEN"],
    [`check ${ENDPOINT} --login-file FOLDER/login.json`, NO_LOGIN, "not a JSON object"],
    [`check ${ENDPOINT} --token-file a --login-file b`, NO_LOGIN, "exclude each other"],
    [`check ${ENDPOINT} --token-file canary-token-0123`, NO_LOGIN, "--token-file: no such file"],
    [`rotate ${ENDPOINT}`, LOGIN, "--next-file is missing"],
    [`rotate ${ENDPOINT} --next-file FOLDER/empty.txt`, LOGIN, "is empty"],
    [`history ${ENDPOINT}`, LOGIN, "--fields is missing"],
    [`history ${ENDPOINT} --fields id`, LOGIN, "--fields takes name=path"],
    [`reconcile ${ENDPOINT} --fields ${FIELDS}`, LOGIN, "--since must be"],
    [`reconcile ${ENDPOINT} --since 1h --recover`, LOGIN, "--recover needs --module"],
    [`reconcile ${ENDPOINT} --since 1h --module FOLDER/none`, LOGIN, "--module cannot be loaded"],
    [`register ${ENDPOINT} --json`, LOGIN, "--json needs --secret-file"],
    ["regster", LOGIN, "did you mean register?"],
  ])("is told in one line, without a token or a secret: %s with %o", async (argv, env, message) => {
    folder.write("login.json", '{"password":"canary-password-1",', 0o600);
    folder.write("empty.txt", "\n", 0o600);
    const command = `webhooks ${argv.replace("FOLDER", folder.at())}`;
    const expected = { code: 2, stdout: "", stderr: message, never: "canary" };
    const { stderr } = await expectEnd(command, expected, { env });
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test.each([
    `check ${ENDPOINT}`,
    `history ${ENDPOINT} --shape`,
    `reconcile ${ENDPOINT} --since 1h --fields ${FIELDS}`,
  ])("and a gateway that cannot be asked are not a finding: %s", async (argv) => {
    await expectEnd(`webhooks ${argv}`, { code: 4, stderr: "(network)" }, { env: LOGIN });
  });

  test("of the gateway is a failure with its code, and no bug of this program", async () => {
    const { url, env } = await setUp();
    const world = { env: { ...env, GATEWAY_CRM_TOKEN: "canary-old-token-0123456789" } };
    const plain = { code: 4, stderr: "(unauthorized)", never: "canary" };
    await expectEnd(`webhooks check ${url}`, plain, world);
    const json = { error: { code: "unauthorized", status: 401 } };
    await expectEnd(`webhooks check ${url} --json`, { json, never: "canary" }, world);
  });

  test("without a command of webhooks exits 2", async () => {
    await expectEnd("webhooks", { code: 2 });
  });
});

test("findings of one kind have one consequence and one fix on the screen", () => {
  const written: string[] = [];
  const output: Output = {
    write: (text) => void written.push(text),
    isTTY: false,
    columns: undefined,
    style: createStyle(false),
  };
  const [alarms, events] = [
    { type: "new_alarm", id: "1" },
    { type: "delete_my_data_event", id: "2" },
  ];
  const findings = [
    finding("history_off", alarms),
    finding("inactive", alarms),
    finding("history_off", events),
  ];
  writeFindings(output, findings);
  const labels = Array.from(written.join("").matchAll(/^ {2}(\w+) +(\w+)/gm), ([, label, word]) =>
    label === "finding" ? word : label,
  );
  const both = ["history_off", "history_off", "consequence", "fix"];
  expect(labels).toEqual([...both, "inactive", "consequence", "fix"]);
});
