import { chmodSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { lockFileOf } from "../../cli/webhooks/rotation-lock.js";
import { secretFingerprint } from "../../src/management/index.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { throwing } from "../support/faults.js";
import { desk } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const CURRENT = "the-current-secret-0123456789";
const NEXT = "the-next-secret-0123456789";
const quick = ["--in-a-row", "1", "--wait", "0"];
const quiet = ["--quiet", "1", "--look-every", "1"];

beforeEach(() => {
  // After the switch a rotation waits a second, so that a later change has another `updated_at`.
  const { setTimeout: start } = globalThis;
  vi.stubGlobal(
    "setTimeout",
    (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
      start(run, ms === 1_000 ? 20 : ms, ...args),
  );
});

/** A gateway with a webhook of each type, and one replica that has both secrets. */
async function setUp() {
  const gateway = await desk.gateway();
  const { url, secrets, metrics } = await desk.replicas(1, CURRENT);
  for (const type of ["new_alarm", "delete_my_data_event"] as const) {
    await gateway.register(url, CURRENT, type);
  }
  secrets[0]?.unshift(NEXT);
  const env = await gateway.environment(CURRENT);
  const next = folder.write("next.txt", `${NEXT}\n`, 0o600);
  const argv = (...more: string[]) => {
    return ["webhooks", "rotate", url, "--next-file", next, ...quick, ...more];
  };
  return {
    ...gateway,
    url,
    secrets,
    metrics: ["--metrics", metrics[0] ?? ""],
    env,
    next,
    lock: lockFileOf(next, new URL(url).href),
    argv,
    rotate: (...more: string[]) => runCommand(argv(...more), { env }),
    deliver: async () => (await gateway.deliver()).end,
    /** The environment of a command whose gateway is a proxy of this one. */
    behind: async (pass: (method: string, res: ServerResponse, answer: string) => unknown) => {
      const proxy = await desk.server((req, res) => {
        const { method = "", url: path = "/", headers } = req;
        const body = text(req).then((sent) => (method === "GET" ? null : sent));
        const given = { method, headers: headers as Record<string, string> };
        void body
          .then((sent) => gateway.api.fetch(new URL(path, url), { ...given, body: sent }))
          .then((answer) => answer.text())
          .then((answer) => pass(method, res, answer));
      });
      return { ...env, GATEWAY_BASE_URL: new URL("/", proxy.url).href };
    },
  };
}

const fingerprint = (await secretFingerprint(NEXT)) ?? "";

/** Metrics with the count of each secret, of which the first is the new one. */
function countsOf(...counts: readonly number[]): string {
  const name = `gateway_webhook_secret_matches_total{secret_fingerprint=`;
  const secrets = counts.map((_count, at) => (at === 0 ? fingerprint : "0001"));
  return counts
    .map((count, at) => `${name}"${secrets[at] ?? ""}",secret_index="${at}"} ${count}\n`)
    .join("");
}

describe("a rotation that is run again", () => {
  test("gives the gateway the secret that is in the file now", async () => {
    const { rotate, next, secrets, deliver } = await setUp();
    await expectEnd(rotate(), { code: 0 });
    await expectEnd(rotate(), { stdout: "since an earlier run" });
    renameSync(next, `${next}.old`);
    await expectEnd(rotate("--secret", NEXT), {
      code: 1,
      stdout: ["A new secret is in", "This run changed nothing at the gateway"],
    });
    secrets[0]?.splice(0, 2, readFileSync(next, "utf8").trim(), NEXT);
    await expectEnd(rotate("--secret", NEXT), { code: 0, stdout: "4/5 Giving webhook 1" });
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  });

  test("gives it to a webhook that was left out before", async () => {
    const { rotate } = await setUp();
    await expectEnd(rotate("--type", "new_alarm"), { never: "Giving webhook 2" });
    await expectEnd(rotate(), { code: 0, stdout: "Giving webhook 2" });
    await expectEnd(rotate(), { stdout: "since an earlier run" });
  });

  test("says that the gateway has the new secret when a replica lost it", async () => {
    const { rotate, secrets } = await setUp();
    await rotate();
    secrets[0]?.shift();
    const stdout = "The gateway signs with this secret already";
    await expectEnd(rotate(), { code: 1, stdout, never: "changed nothing" });
  });
});

describe("a rotation that was undone", () => {
  test.each([
    ["by a rotation back in another folder", "elsewhere/b.txt", true],
    ["at a gateway that shows no updated_at, in the same folder", "b.txt", false],
  ])("%s gives the gateway the new secret again", async (_how, backFile, showsDates) => {
    const { argv, behind, secrets, metrics, deliver, next } = await setUp();
    const dates = /,"(?:created|updated)_at":"[^"]*"/g;
    const env = await behind((_method, res, answer) =>
      res.end(showsDates ? answer : answer.replaceAll(dates, "")),
    );
    const watch = [...metrics, ...quiet];
    const back = folder.write(backFile, `${CURRENT}\n`, 0o600);
    const forth = (...more: string[]) => runCommand(argv(...more), { env });

    await expectEnd(forth(), { code: 0 });
    expect(await deliver()).toBe("acknowledged");
    await expectEnd(forth(...watch, "--once"), { code: 1 });
    expect(await deliver()).toBe("acknowledged");
    await expectEnd(forth(...watch), { stdout: "remove it from the receivers" });
    secrets[0]?.reverse();
    const backwards = argv().map((one) => (one === next ? back : one));
    const undone = { env: { ...env, GATEWAY_WEBHOOK_SECRET: NEXT } };
    await expectEnd(backwards, { code: 0 }, undone);

    secrets[0]?.reverse();
    await expectEnd(forth(), { stdout: "4/5 Giving webhook 1" });
    // The old secret is removed: with it, the gateway would be refused.
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  });

  test("while it was watched is not finished", async () => {
    // The change comes right after the switch.
    vi.unstubAllGlobals();
    const { rotate, client } = await setUp();
    let looks = 0;
    const { url } = await desk.server((_req, res) => {
      const metrics = countsOf(++looks);
      const undone = looks === 2 ? client.webhooks.update(1, { secret: CURRENT }) : undefined;
      void Promise.resolve(undone).then(() => res.end(metrics));
    });
    const watch = ["--metrics", url, ...quiet];
    await expectEnd(rotate(...watch, "--once"), { code: 1 });
    const stdout = "was changed or added since the switch";
    await expectEnd(rotate(...watch), { code: 1, stdout, never: "remove it" });
  });
});

test("of two rotations of one URL at once the second is refused, and the first goes on", async () => {
  const { argv, env, rotate, next, secrets, lock } = await setUp();
  secrets[0]?.shift();
  const waiting = argv().map((one) => (one === "0" ? "60" : one));
  const first = startCommand(waiting, { env });
  await first.says(/2\/5/);
  expect(statSync(lock).mode & 0o777).toBe(0o600);
  const other = argv().map((one) => (one === next ? folder.at("other.txt") : one));
  const second = await expectEnd(other, { code: 1, stdout: "of this URL is running" }, { env });
  expect(second.stdout.replaceAll(/\s/g, "")).toContain(lock);
  expect(existsSync(folder.at("other.txt"))).toBe(false);
  await expectEnd(rotate("--json"), { json: { result: "already_running", passed: false } });
  secrets[0]?.unshift(NEXT);
  expect(await first.exitCode).toBe(0);
  expect(existsSync(lock)).toBe(false);
});

test.each([
  ["another process", `${2 ** 30} killed`],
  ["a process that had the number of this one, as in a container", `${process.pid} killed`],
  ["a process that had not written its number yet", ""],
])("the lock of a killed rotation holds no one up: %s", async (_who, owner) => {
  const { rotate, lock } = await setUp();
  writeFileSync(lock, owner);
  const both = await Promise.all([rotate(), rotate()]);
  // Of two that see it at once, one takes it over.
  expect(both.map(({ code }) => code).toSorted()).toEqual([0, 1]);
  expect(existsSync(lock)).toBe(false);
});

test.each([
  ["this user", () => true as const],
  ["another user", throwing(Object.assign(new Error("not permitted"), { code: "EPERM" }))],
])("the lock of a living process of %s is not taken over", async (_whose, signalled) => {
  const { rotate, lock } = await setUp();
  const kill = vi.spyOn(process, "kill").mockImplementation(signalled);
  writeFileSync(lock, "1 other");
  expect((await rotate()).code).toBe(1);
  kill.mockRestore();
  expect(readFileSync(lock, "utf8")).toBe("1 other");
});

test.each([
  ["the connection breaks", (res: ServerResponse) => res.destroy()],
  ["a proxy answers 502", (res: ServerResponse) => res.writeHead(502).end("<html>")],
])(
  "a lost answer to the update of the secret because %s says that the gateway may have the new secret",
  async (_how, lose) => {
    const { argv, behind, deliver, secrets, rotate } = await setUp();
    const env = await behind((method, res, answer) =>
      method === "PUT" ? lose(res) : res.end(answer),
    );
    const stderr =
      "the gateway may have the new secret: keep both secrets at the receivers, and start again";
    await expectEnd(argv(), { code: 1, stderr }, { env });
    expect(await deliver()).toBe("acknowledged");
    await expectEnd(rotate(), { stdout: "4/5 Giving webhook 2" });
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  },
);

test("a rotation without metrics says that it has not proven with which secret the gateway signs", async () => {
  const { rotate, client } = await setUp();
  const notProven = "Not proven: that the gateway signs with the new secret.";
  await expectEnd(rotate(), { code: 0, stdout: [notProven, "Keep both secrets"], stderr: "" });
  // The same in each later run, and beside the JSON.
  await client.webhooks.update(1, { secret: CURRENT });
  const json = { result: "switched", isNewSeen: false };
  await expectEnd(rotate("--json"), { json, stderr: "Not proven" });
});

describe("the watch", () => {
  const REMOVE = "remove it from the receivers";

  test("wants a delivery with the new secret, and a finished rotation is finished after another look", async () => {
    const { rotate, deliver, metrics, client } = await setUp();
    const watch = [...metrics, ...quiet];
    const unseen = { result: "no_delivery_seen", passed: false };
    await expectEnd(rotate(...watch, "--json"), { code: 1, json: unseen });
    await expectEnd(rotate(...watch), {
      stdout: "No delivery with the new secret of this rotation was seen",
    });
    expect(await deliver()).toBe("acknowledged");
    await expectEnd(rotate(...watch), { code: 0, stdout: REMOVE });
    await expectEnd(rotate(...watch, "--once"), { code: 0, stdout: REMOVE });
    const finished = { result: "finished", passed: true };
    await expectEnd(rotate(...watch, "--once", "--json"), { json: finished });
    // Undone by hand: the state is void, and the watch begins anew.
    await client.webhooks.update(1, { secret: CURRENT });
    const undone = { code: 1, stdout: "4/5 Giving webhook 1", never: REMOVE };
    await expectEnd(rotate(...watch, "--once"), undone);
  });

  test("is not over while the gateway signs with the old secret", async () => {
    const { rotate, client, deliver, metrics } = await setUp();
    await expectEnd(rotate(...metrics, "--once"), { code: 1 });
    // As a gateway that ignores the secret of a PUT.
    await client.webhooks.update(1, { secret: CURRENT });
    expect(await deliver()).toBe("acknowledged");
    const json = { result: "old_secret_in_use", watch: { isNewSeen: false } };
    await expectEnd(rotate(...metrics, "--once", "--json"), { json });
  });

  test("does not take a delivery with the new secret of another machine's rotation for its own", async () => {
    const { rotate } = await setUp();
    let count = 3;
    // Their secret is the first of the replica: someone else has deployed it after this one.
    const { url } = await desk.server((_req, res) =>
      res.end(countsOf(count++).replace(fingerprint, "0000")),
    );
    await rotate("--metrics", url, "--once");
    const json = { result: "old_secret_in_use", watch: { isNewSeen: false } };
    await expectEnd(rotate("--metrics", url, "--once", "--json"), { code: 1, json });
  });

  test("starts again when the count of the new secret falls: a restart lost both counts", async () => {
    const { rotate } = await setUp();
    let count = 3;
    const { url } = await desk.server((_req, res) => res.end(countsOf(count, 0)));
    const look = async () => {
      const { stdout } = await rotate("--metrics", url, "--once", "--json");
      return (JSON.parse(stdout) as { watch: { quietSinceMs: number; lookedAtMs: number } }).watch;
    };
    const first = await look();
    count = 4;
    expect((await look()).quietSinceMs).toBe(first.quietSinceMs);
    count = 1;
    const restarted = await look();
    expect(restarted.quietSinceMs).toBe(restarted.lookedAtMs);
    expect((await look()).quietSinceMs).toBe(restarted.quietSinceMs);
  });

  test("does not compare the counts of other replicas", async () => {
    const { rotate } = await setUp();
    const metricsOf = (count: number) => desk.server((_req, res) => res.end(countsOf(count, 5)));
    const [one, other] = [(await metricsOf(1)).url, (await metricsOf(2)).url];
    await rotate("--metrics", one, "--metrics", other, "--once");
    const turned = rotate("--metrics", other, "--metrics", one, "--once", "--json");
    await expectEnd(turned, { json: { watch: { isNewSeen: false } } });
  });

  test("names a replica without metrics at once and without its query, and ends at Ctrl-C in silence", async () => {
    const { argv, env, next } = await setUp();
    const silent = await desk.server(() => undefined);
    const gone = "http://127.0.0.1:9/metrics?key=canary-key-0123";
    const running = startCommand(argv("--metrics", gone), { env });
    await expect.poll(running.stderr).toContain("127.0.0.1:9/metrics?…");
    expect(await running.stop()).toBe(130);
    expect(running.stdout()).not.toContain("✗");
    expect(running.stdout() + running.stderr()).not.toContain("canary");

    // A look that is interrupted is not a look.
    const before = readFileSync(`${next}.state.json`, "utf8");
    const asking = startCommand(argv("--metrics", silent.url, "--timeout", "600000"), { env });
    await asking.says(/5\/5/);
    expect(await asking.stop()).toBe(130);
    expect(readFileSync(`${next}.state.json`, "utf8")).toBe(before);
  });
});

test.runIf(process.platform !== "win32").each([
  ["check", "secret"],
  ["rotate", "secret"],
  ["register", "secret"],
  ["check", "token"],
  ["check", "login"],
] as const)("%s warns of a file that others can read: --%s-file", async (name, what) => {
  const { url, env, next } = await setUp();
  const more = name === "rotate" ? ["--next-file", next, ...quick] : [];
  const contents = { secret: CURRENT, token: env.GATEWAY_CRM_TOKEN, login: '{"user":"partner"}' };
  const open = folder.write("open.txt", contents[what], 0o644);
  const argv = ["webhooks", name, url, `--${what}-file`, open, ...more];
  const warning = `--${what}-file: other users of this machine can read the ${what}: chmod 600 its file\n`;
  expect((await runCommand(argv, { env })).stderr).toBe(warning);
  chmodSync(open, 0o600);
  await expectEnd(argv, { stderr: "" }, { env });
});

describe("the files", () => {
  test.each([
    ["", "the file is empty"],
    [" spaced-secret-0123\n", "white space at an end"],
    ["undefined", '"undefined"'],
  ])(
    "with a current secret of %j are refused before anything is asked or made",
    async (content, stderr) => {
      const { env } = await setUp();
      const bad = folder.write("bad.txt", content, 0o600);
      const made = folder.at("made.txt");
      const { url } = await desk.server(() => expect.unreachable());
      const world = { env: { ...env, GATEWAY_BASE_URL: url } };
      for (const name of ["check", `rotate --next-file ${made}`]) {
        const command = `webhooks ${name} ${url} --secret-file ${bad}`;
        await expectEnd(command, { code: 2, stdout: "", stderr }, world);
      }
      expect(existsSync(made)).toBe(false);
    },
  );

  test("are the advice of register when it made a secret that no replica has", async () => {
    const { url, env, client } = await setUp();
    const register = ["webhooks", "register", url, ...quick];
    // With nothing to create it shows no secret: deployed, it would replace the right one.
    await expectEnd(register, { code: 1, never: /[0-9a-f]{64}|Deploy/ }, { env });
    for (const { id } of await client.webhooks.list()) await client.webhooks.delete(id);
    const stdout = "save it in a file and run this again with --secret-file";
    await expectEnd(register, { code: 1, stdout }, { env });
  });
});
