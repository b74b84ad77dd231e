import { readFileSync, statSync, utimesSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { crmLogin } from "../../src/management/index.js";
import * as library from "../../src/index.js";
import { sampleAlarm } from "../../kit/index.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";
import { startReplicas } from "../support/management/replicas.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

beforeEach(() => {
  // For modules of `--module`, which cannot import the sources.
  vi.stubGlobal("library", library);
});

const FIELDS = "deliveryId=delivery_id,status=status,at=created_at,body=body,attemptId=id";
const CURRENT = "canary-current-secret-0123456789";

/** A gateway, four replicas and the environment of a command that is logged in. */
async function setUp() {
  const gateway = await desk.gateway();
  const replicas = await startReplicas(4, CURRENT);
  const { token } = await crmLogin({ baseUrl: gateway.baseUrl, credentials: {} });
  const env = {
    GATEWAY_BASE_URL: gateway.baseUrl,
    GATEWAY_CRM_TOKEN: token,
    GATEWAY_WEBHOOK_SECRET: CURRENT,
  };
  const world = { env, isTTY: true, columns: 80 };
  const run = (commandLine: string) => runCommand(`webhooks ${commandLine}`, world);
  return { ...gateway, ...replicas, token, env, world, run };
}

function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}

describe("help", () => {
  test.each(["register", "check", "rotate", "history", "reconcile"])(
    "of webhooks %s has an example and fits 80 columns",
    async (name) => {
      const { code, stdout } = await runCommand(`webhooks ${name} --help`);
      expect(code).toBe(0);
      expect(stdout).toContain(`npx identity-gateway-webhooks webhooks ${name} `);
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test("of webhooks names its commands, and a wrong one is refused with a hint", async () => {
    const { stdout } = await runCommand("webhooks --help");
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    for (const name of ["register", "check", "rotate", "history", "reconcile"]) {
      expect(stdout).toContain(`  ${name}`);
    }
    expect((await runCommand("help webhooks")).stdout).toBe(stdout);
    const wrong = await runCommand("webhooks regster");
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    expect(wrong.stderr).toContain("did you mean register?");
    expect((await runCommand("webhooks")).code).toBe(2);
  });
});

describe("the commands end to end", () => {
  test("register, check, rotate, history and reconcile work at 80 columns and show no token or secret", async () => {
    const { api, client, url, secrets, handled, run, token, env, metrics } = await setUp();
    const shown: string[] = [];
    const errors: string[] = [];
    const ran = async (commandLine: string) => {
      const ended = await run(commandLine);
      shown.push(ended.stdout);
      errors.push(ended.stderr);
      return ended;
    };
    const quick = "--in-a-row 8 --wait 30";

    // The receiver has the secret already, as after a deploy.
    folder.write("current.txt", `${CURRENT}\n`, 0o600);
    const registering = await ran(
      `register ${url} --secret-file ${folder.at("current.txt")} ${quick}`,
    );
    expect(registering).toMatchObject({ code: 0, stderr: "" });
    expect(registering.stdout).toContain("created webhook 1 for new_alarm");
    const again = await ran(`register ${url} --secret-file ${folder.at("current.txt")} ${quick}`);
    expect([again.code, again.stdout.includes("was there before")]).toEqual([1, true]);

    expect(await ran(`check ${url}`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Nothing is wrong") as string,
    });
    await client.webhooks.update(2, { enable_requests_history: false, secret: CURRENT });
    const checked = await ran(`check ${url} --json`);
    expect(checked.code).toBe(1);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      findings: [{ code: "history_off", type: "delete_my_data_event", webhookId: "2" }],
    });
    expect((await ran(`check ${url}`)).stdout).toContain("history_off");
    await client.webhooks.update(2, { enable_requests_history: true, secret: CURRENT });

    const rotating = startCommand(
      `webhooks rotate ${url} --next-file ${folder.at("next.txt")} ${quick}`.split(" "),
      { env, isTTY: true, columns: 80 },
    );
    await rotating.says(/2\/5/);
    const next = readFileSync(folder.at("next.txt"), "utf8").trim();
    expect(next).toMatch(/^[0-9a-f]{64}$/);
    expect(modeOf(folder.at("next.txt"))).toBe(0o600);
    for (const list of secrets) list.unshift(next);
    expect(await rotating.exitCode).toBe(0);
    shown.push(rotating.stdout());
    errors.push(rotating.stderr());
    expect(modeOf(`${folder.at("next.txt")}.state.json`)).toBe(0o600);
    const watch = metrics.map((one) => `--metrics ${one}`).join(" ");
    const early = await ran(`rotate ${url} --next-file ${folder.at("next.txt")} ${watch} --once`);
    expect([early.code, early.stdout.includes("4/5")]).toEqual([1, true]);
    expect((await ran(`history ${url} --shape`)).code).toBe(1);
    // The watch wants a delivery with the new secret.
    const [first] = await api.twin.deliver({ alarm: sampleAlarm() });
    expect(first?.end).toBe("acknowledged");
    const quiet = "--quiet 1 --look-every 1";
    const done = await ran(`rotate ${url} --next-file ${folder.at("next.txt")} ${watch} ${quiet}`);
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("remove it") as string });
    // Without a look at the metrics no later run says that it is over.
    const unseen = await ran(`rotate ${url} --next-file ${folder.at("next.txt")}`);
    expect([unseen.code, unseen.stdout.includes("remove it from")]).toEqual([0, false]);
    for (const list of secrets) list.pop();

    const [delivered] = await api.twin.deliver({ alarm: sampleAlarm() });
    expect(delivered?.end).toBe("acknowledged");
    expect(handled).toEqual([first?.id, delivered?.id]);
    const shape = await ran(`history ${url} --shape`);
    expect(shape.code).toBe(0);
    expect(shape.stdout).toMatch(/delivery_id\s+string/);
    expect(shape.stdout).not.toContain(delivered?.id);
    expect(shape.stdout).not.toContain("account_id");
    const attempts = await ran(`history ${url} --fields ${FIELDS}`);
    expect([attempts.code, attempts.stdout.includes(delivered?.id ?? "-")]).toEqual([0, true]);
    expect((await ran(`history ${url} --fields ${FIELDS} --json`)).stdout).not.toContain(
      'alarm\\"',
    );
    const since = `--since 1h --fields ${FIELDS}`;
    expect((await ran(`reconcile ${url} ${since}`)).code).toBe(0);

    const all = shown.join("\n");
    for (const secret of [token, CURRENT, next])
      expect(all + errors.join("")).not.toContain(secret);
    const lines = stripVTControlCharacters(all).split("\n");
    const wide = lines.filter((line) => line.length > 80 && !line.startsWith('      "'));
    // Paths and commands are not broken.
    expect(wide.filter((line) => !line.includes(folder.at()))).toEqual([]);
  });

  test("reconcile lists what was lost, as a table, JSON and metrics, and --recover handles it once", async () => {
    const { api, client, run } = await setUp();
    const { url } = await desk.server((req, res) => {
      res.writeHead(req.method === "GET" ? 200 : 403).end("<html>blocked</html>");
    });
    await client.webhooks.create({ title: "alarms", url, type: "new_alarm", secret: CURRENT });
    const events = Array.from({ length: 3 }, () => ({ alarm: sampleAlarm() }));
    const { lost } = await api.twin.deliverMany(events);
    const argv = `reconcile ${url} --since 24h --fields ${FIELDS}`;

    const table = await expectEnd(run(argv), { code: 1, stdout: "3 lost" });
    for (const { id } of lost) expect(table.stdout).toContain(id);
    expect(
      table.stdout.split("\n").filter((line) => stripVTControlCharacters(line).length > 80),
    ).toEqual([]);
    const json = await run(`${argv} --json`);
    expect(JSON.parse(json.stdout)).toMatchObject({ missing: [{}, {}, {}], passed: false });
    expect(json.stdout).not.toContain("account_id");
    expect((await run(`${argv} --prometheus`)).stdout).toContain('{state="given_up"} 3');
    folder.write("ids.txt", `${lost.map(({ id }) => id).join("\n")}\n`);
    expect((await run(`${argv} --completed ${folder.at("ids.txt")}`)).code).toBe(0);

    folder.write(
      "receiver.mjs",
      `const { createWebhookReceiver } = globalThis.library;
       globalThis.recoveredIds ??= [];
       export const receiver = createWebhookReceiver({
         secret: "any-secret-will-do-here", logger: false,
         handlers: { new_alarm: (_alarm, { id }) => void globalThis.recoveredIds.push(id) },
       });
       export const isCompleted = (id) => globalThis.recoveredIds.includes(id);`,
    );
    const recover = `${argv} --module ${folder.at("receiver.mjs")} --recover`;
    await expectEnd(run(recover), { code: 0, stdout: "3 recovered" });
    await expectEnd(run(recover), { code: 0, stdout: "3 handled before" });
    const ids = (globalThis as unknown as { recoveredIds: string[] }).recoveredIds;
    expect(ids.toSorted()).toEqual(lost.map(({ id }) => id).toSorted());
  });

  test("reconcile counts what a proxy acknowledged in place of the receiver", async () => {
    const { api, client, run } = await setUp();
    const { url } = await desk.server((_req, res) => res.end("<html>Welcome</html>"));
    await client.webhooks.create({ title: "alarms", url, type: "new_alarm", secret: CURRENT });
    const events = Array.from({ length: 3 }, () => ({ alarm: sampleAlarm() }));
    const { deliveries } = await api.twin.deliverMany(events);
    const argv = `reconcile ${url} --since 24h --fields ${FIELDS}`;
    const unchecked = await run(argv);
    expect([unchecked.code, unchecked.stdout.includes("2xx are not checked")]).toEqual([0, true]);
    expect(unchecked.stdout).toContain("~ 0 lost");
    expect(deliveries.map(({ reason }) => reason)).toEqual(
      deliveries.map(() => "answered 200 at attempt 1, by whom is not known"),
    );
    const ids = folder.write("ids.txt", `${deliveries[0]?.id ?? ""}\n`);
    const checked = await run(`${argv} --completed ${ids}`);
    expect(checked.code).toBe(1);
    expect(checked.stdout.replaceAll(/\s+/g, " ")).toContain(
      "acknowledged at the gateway, unknown to your store: 2",
    );
    expect(checked.stdout).toContain("3 acknowledged ids compared");
    const json = JSON.parse((await run(`${argv} --completed ${ids} --json`)).stdout) as object;
    expect(json).toMatchObject({
      missing: [{ isAcknowledged: true }, { isAcknowledged: true }],
      acknowledged: { compared: 3, unhandled: 0, forgotten: 0, later: 0 },
    });
    // A list that is older than the deliveries says nothing of them.
    utimesSync(ids, 0, 0);
    const older = await run(`${argv} --completed ${ids}`);
    expect([older.code, older.stdout.includes("3 later")]).toEqual([0, true]);
  });

  test("register makes a secret of its own, shows it once, and creates nothing while no one has it", async () => {
    const { client, url, run } = await setUp();
    const shown = await run(`register ${url} --wait 0 --in-a-row 1`);
    expect(shown.code).toBe(1);
    expect(shown.stdout.match(/\b[0-9a-f]{64}\b/g)).toHaveLength(1);
    const filed = await run(
      `register ${url} --wait 0 --secret-file ${folder.at("new.txt")} --json`,
    );
    expect(filed.code).toBe(1);
    expect(JSON.parse(filed.stdout)).toMatchObject({
      result: "secret_not_accepted",
      passed: false,
    });
    expect(filed.stdout).not.toContain(readFileSync(folder.at("new.txt"), "utf8").trim());
    expect(modeOf(folder.at("new.txt"))).toBe(0o600);
    expect(await client.webhooks.list()).toEqual([]);
    const gone = await run(`register http://127.0.0.1:9/ --secret-file ${folder.at("new.txt")}`);
    expect([gone.code, gone.stdout.includes("does not answer a GET")]).toEqual([1, true]);
  });
});

describe("a wrong use", () => {
  test("is told in one line, without a token or a secret", async () => {
    const { url, world } = await setUp();
    folder.write("login.json", '{"password":"canary-password-1",', 0o600);
    folder.write("empty.txt", "\n", 0o600);
    const none = { ...world, env: { GATEWAY_BASE_URL: "http://127.0.0.1:9" } };
    const cases = [
      [["check", url], { ...world, env: {} }, "no gateway: set GATEWAY_BASE_URL"],
      [["check", url], none, "no CRM token: set GATEWAY_CRM_TOKEN"],
      [["check", url, "--login-file", folder.at("login.json")], none, "not a JSON object"],
      [["check", url, "--token-file", "a", "--login-file", "b"], none, "exclude each other"],
      [["check", url, "--token-file", folder.at("none")], none, "no such file"],
      [["check", url, "--type", "alarm"], world, "--type must be one of"],
      [["check", "ftp://x/"], world, "the endpoint must be an http or https URL"],
      [["rotate", url], world, "--next-file is missing"],
      [["rotate", url, "--next-file", folder.at("empty.txt")], world, "is empty"],
      [["history", url], world, "--fields is missing"],
      [["history", url, "--fields", "id"], world, "--fields takes name=path"],
      [["reconcile", url, "--fields", FIELDS], world, "--since must be"],
      [["reconcile", url, "--since", "1h"], world, "--fields is missing"],
      [["reconcile", url, "--since", "1h", "--recover"], world, "--recover needs --module"],
      [
        ["reconcile", url, "--since", "1h", "--module", folder.at("none")],
        world,
        "--module cannot be loaded",
      ],
      [["register", url, "--json"], world, "--json needs --secret-file"],
    ] as const;
    for (const [argv, given, message] of cases) {
      const { code, stdout, stderr } = await runCommand(["webhooks", ...argv], given);
      expect({ argv, code, stdout }).toEqual({ argv, code: 2, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain("canary");
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    }
  });

  test("of the gateway is a failure with its code, and no bug of this program", async () => {
    const { url, world, env } = await setUp();
    const old = { ...world, env: { ...env, GATEWAY_CRM_TOKEN: "canary-old-token-0123456789" } };
    const plain = await runCommand(`webhooks check ${url}`, old);
    expect([plain.code, plain.stderr.includes("(unauthorized)")]).toEqual([1, true]);
    const json = await runCommand(`webhooks check ${url} --json`, old);
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "unauthorized", status: 401 } });
    expect(plain.stderr + json.stdout + json.stderr).not.toContain("canary");
  });
});
