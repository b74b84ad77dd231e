import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { chmodSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { lockFileOf } from "../../cli/webhooks/rotation-lock.js";
import { crmLogin } from "../../src/management/index.js";
import { sampleAlarm, type GatewayApi } from "../../kit/index.js";
import { expectEnd, runCommand, startCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";
import { startReplicas } from "../support/management/replicas.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const CURRENT = "the-current-secret-0123456789";
const NEXT = "the-next-secret-0123456789";
const quick = ["--in-a-row", "1", "--wait", "0"];

/** A gateway with a webhook of each type, and one replica that has both secrets. */
async function setUp() {
  const { api, client, baseUrl } = await desk.gateway();
  const { url, secrets, metrics } = await startReplicas(1, CURRENT);
  for (const type of ["new_alarm", "delete_my_data_event"] as const) {
    await client.webhooks.create({ title: "a", url, type, secret: CURRENT });
  }
  secrets[0]?.unshift(NEXT);
  const { token } = await crmLogin({ baseUrl, credentials: {} });
  const env = {
    GATEWAY_BASE_URL: baseUrl,
    GATEWAY_CRM_TOKEN: token,
    GATEWAY_WEBHOOK_SECRET: CURRENT,
  };
  const next = folder.write("next.txt", `${NEXT}\n`, 0o600);
  const argv = (...more: string[]) => [
    "webhooks",
    "rotate",
    url,
    "--next-file",
    next,
    ...quick,
    ...more,
  ];
  const rotate = (...more: string[]) => runCommand(argv(...more), { env });
  const deliver = async () => {
    const [delivery] = await api.twin.deliver({ alarm: sampleAlarm() });
    return delivery?.end;
  };
  const [metricsUrl = ""] = metrics;
  const lock = lockFileOf(next, new URL(url).href);
  return { api, client, url, secrets, metricsUrl, env, next, lock, argv, rotate, deliver };
}

describe("a rotation that is run again", () => {
  test("gives the gateway the secret that is in the file now", async () => {
    const { rotate, next, secrets, deliver } = await setUp();
    expect((await rotate()).code).toBe(0);
    expect((await rotate()).stdout).toContain("since an earlier run");
    renameSync(next, `${next}.old`);
    const early = await rotate("--secret", NEXT);
    expect(early).toMatchObject({ code: 1 });
    expect(early.stdout).toContain("A new secret is in");
    expect(early.stdout).toContain("This run changed nothing at the gateway");
    secrets[0]?.splice(0, 2, readFileSync(next, "utf8").trim(), NEXT);
    await expectEnd(rotate("--secret", NEXT), { code: 0, stdout: "4/5 Giving webhook 1" });
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  });

  test("gives it to a webhook that was left out before", async () => {
    const { rotate } = await setUp();
    const first = await rotate("--type", "new_alarm");
    expect(first.stdout).not.toContain("Giving webhook 2");
    await expectEnd(rotate(), { code: 0, stdout: "Giving webhook 2" });
    expect((await rotate()).stdout).toContain("since an earlier run");
  });

  test("says that the gateway has the new secret when a replica lost it", async () => {
    const { rotate, secrets } = await setUp();
    await rotate();
    secrets[0]?.shift();
    const lost = await rotate();
    expect(lost.code).toBe(1);
    expect(lost.stdout.replaceAll(/\s+/g, " ")).toContain(
      "The gateway signs with this secret already",
    );
    expect(lost.stdout).not.toContain("changed nothing");
  });
});

describe("a rotation that was undone", () => {
  test.each([
    ["by a rotation back in the same folder", "b.txt", true],
    ["by a rotation back in another folder", "elsewhere/b.txt", true],
    ["at a gateway that shows no updated_at, in the same folder", "b.txt", false],
    ["at a gateway that shows no updated_at, in another folder", "elsewhere/b.txt", false],
  ])("%s gives the gateway the new secret again", async (_how, backFile, showsDates) => {
    const { api, argv, env, secrets, metricsUrl, deliver, next } = await setUp();
    const { url: gateway } = await desk.server((req, res) => {
      void withoutDates(req, api, showsDates).then((text) => res.end(text));
    });
    const own = { ...env, GATEWAY_BASE_URL: new URL("/", gateway).href };
    const watch = ["--metrics", metricsUrl, "--quiet", "1", "--look-every", "1"];
    const back = folder.write(backFile, `${CURRENT}\n`, 0o600);
    const forth = async (...more: string[]) => runCommand(argv(...more), { env: own });

    expect((await forth()).code).toBe(0);
    expect(await deliver()).toBe("acknowledged");
    expect((await forth(...watch, "--once")).code).toBe(1);
    expect(await deliver()).toBe("acknowledged");
    expect((await forth(...watch)).stdout).toContain("remove it from the receivers");
    secrets[0]?.reverse();
    const backwards = argv().map((one) => (one === next ? back : one));
    const undoing = await runCommand(backwards, { env: { ...own, GATEWAY_WEBHOOK_SECRET: NEXT } });
    expect(undoing.code).toBe(0);

    secrets[0]?.reverse();
    const again = await forth();
    expect(again.stdout).toContain("4/5 Giving webhook 1");
    // The old secret is removed: with it, the gateway would be refused.
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  });

  test("while it was watched is not finished", async () => {
    const { rotate, client } = await setUp();
    let looks = 0;
    const { url } = await desk.server((_req, res) => {
      const name = "gateway_webhook_secret_matches_total";
      const metrics = `${name}{secret_index="0"} ${String(++looks)}\n`;
      const undone = looks === 2 ? client.webhooks.update(1, { secret: CURRENT }) : undefined;
      void Promise.resolve(undone).then(() => res.end(metrics));
    });
    const watch = ["--metrics", url, "--quiet", "1", "--look-every", "1"];
    expect((await rotate(...watch, "--once")).code).toBe(1);
    const { code, stdout } = await rotate(...watch);
    expect([code, stdout.includes("was changed or added since the switch")]).toEqual([1, true]);
    expect(stdout).not.toContain("remove it");
  });
});

/** Passes a request on to the gateway, and takes the dates out of its answer. */
async function withoutDates(req: IncomingMessage, api: GatewayApi, showsDates: boolean) {
  const { method = "GET", url = "/", headers } = req;
  const body = method === "GET" ? null : await text(req);
  const given = { method, body, headers: headers as Record<string, string> };
  const answer = await (await api.fetch(new URL(url, "http://desk.example"), given)).text();
  return showsDates ? answer : answer.replaceAll(/,"(?:created|updated)_at":"[^"]*"/g, "");
}

test("of two rotations of one URL at once the second is refused, and the first goes on", async () => {
  const { argv, env, rotate, next, secrets, lock } = await setUp();
  secrets[0]?.shift();
  const first = startCommand(
    argv().map((one) => (one === "0" ? "60" : one)),
    { env },
  );
  await first.says(/2\/5/);
  expect(statSync(lock).mode & 0o777).toBe(0o600);
  const other = argv().map((one) => (one === next ? folder.at("other.txt") : one));
  const second = await runCommand(other, { env });
  expect([second.code, second.stdout.includes("of this URL is running")]).toEqual([1, true]);
  expect(second.stdout.replaceAll(/\s/g, "")).toContain(lock);
  expect(existsSync(folder.at("other.txt"))).toBe(false);
  const json = await rotate("--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ result: "already_running", passed: false });
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

test("the lock of a living process of another user is not taken over", async () => {
  const { rotate, lock } = await setUp();
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  });
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
    const { api, argv, env, deliver, secrets, rotate } = await setUp();
    const { url: gateway } = await desk.server((req, res) => {
      void withoutDates(req, api, true).then((text) => {
        if (req.method === "PUT") lose(res);
        else res.end(text);
      });
    });
    const lost = await runCommand(argv(), {
      env: { ...env, GATEWAY_BASE_URL: new URL("/", gateway).href },
    });
    expect(lost.code).toBe(1);
    expect(lost.stderr).toContain(
      "the gateway may have the new secret: keep both secrets at the receivers, and start again",
    );
    expect(await deliver()).toBe("acknowledged");
    expect((await rotate()).stdout).toContain("4/5 Giving webhook 2");
    secrets[0]?.pop();
    expect(await deliver()).toBe("acknowledged");
  },
);

test("a rotation without metrics says that it has not proven with which secret the gateway signs", async () => {
  const { rotate, client } = await setUp();
  const plain = await rotate();
  expect(plain.code).toBe(0);
  const said = plain.stdout.replaceAll(/\s+/g, " ");
  expect(said).toContain("Not proven: that the gateway signs with the new secret.");
  expect(said).toContain("Keep both secrets");
  // The same in each later run, and beside the JSON.
  await client.webhooks.update(1, { secret: CURRENT });
  const json = await rotate("--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ result: "switched", isNewSeen: false });
  expect(json.stderr).toContain("Not proven");
});

describe("the watch", () => {
  const quiet = ["--quiet", "1", "--look-every", "1"];

  test("wants a delivery with the new secret, and a finished rotation is finished after another look", async () => {
    const { rotate, deliver, metricsUrl, client } = await setUp();
    const watch = ["--metrics", metricsUrl, ...quiet];
    const unseen = await rotate(...watch, "--json");
    expect(unseen.code).toBe(1);
    expect(JSON.parse(unseen.stdout)).toMatchObject({ result: "no_delivery_seen", passed: false });
    expect((await rotate(...watch)).stdout).toContain("No delivery with the new secret was seen");
    expect(await deliver()).toBe("acknowledged");
    await expectEnd(rotate(...watch), { code: 0, stdout: "remove it from the receivers" });
    await expectEnd(rotate(...watch, "--once"), {
      code: 0,
      stdout: "remove it from the receivers",
    });
    const json = await rotate(...watch, "--once", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ result: "finished", passed: true });
    // Undone by hand: the state is void, and the watch begins anew.
    await client.webhooks.update(1, { secret: CURRENT });
    const undone = await rotate(...watch, "--once");
    expect([undone.code, undone.stdout.includes("4/5 Giving webhook 1")]).toEqual([1, true]);
    expect(undone.stdout).not.toContain("remove it from the receivers");
  });

  test("is not over while the gateway signs with the old secret", async () => {
    const { rotate, client, deliver, metricsUrl } = await setUp();
    const watch = ["--metrics", metricsUrl, "--once"];
    expect((await rotate(...watch)).code).toBe(1);
    // As a gateway that ignores the secret of a PUT.
    await client.webhooks.update(1, { secret: CURRENT });
    expect(await deliver()).toBe("acknowledged");
    const json = JSON.parse((await rotate(...watch, "--json")).stdout) as object;
    expect(json).toMatchObject({ result: "old_secret_in_use", watch: { isNewSeen: false } });
  });

  test("starts again when the count of the new secret falls: a restart lost both counts", async () => {
    const { rotate } = await setUp();
    let count = 3;
    const { url } = await desk.server((_req, res) => {
      const name = "gateway_webhook_secret_matches_total";
      res.end(`${name}{secret_index="0"} ${String(count)}\n${name}{secret_index="1"} 0\n`);
    });
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
    const metricsOf = async (count: number) => {
      const sample = (index: number, value: number) =>
        `gateway_webhook_secret_matches_total{secret_index="${String(index)}"} ${String(value)}\n`;
      const text = sample(0, count) + sample(1, 5);
      return (await desk.server((_req, res) => res.end(text))).url;
    };
    const [one, other] = [await metricsOf(1), await metricsOf(2)];
    await rotate("--metrics", one, "--metrics", other, "--once");
    const turned = await rotate("--metrics", other, "--metrics", one, "--once", "--json");
    expect(JSON.parse(turned.stdout)).toMatchObject({ watch: { isNewSeen: false } });
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

describe("the files", () => {
  test.runIf(process.platform !== "win32")(
    "with a secret that others can read give a warning",
    async () => {
      const { rotate, url, env } = await setUp();
      expect((await rotate()).stderr).toBe("");
      const open = folder.write("open.txt", `${CURRENT}\n`, 0o644);
      const register = ["webhooks", "register", url, "--secret-file", open, ...quick];
      expect((await runCommand(register, { env })).stderr).toContain("chmod 600");
    },
  );

  test.runIf(process.platform !== "win32").each(["check", "rotate"])(
    "with a current secret that others can read give a warning in %s",
    async (name) => {
      const { url, env, next } = await setUp();
      const more = name === "rotate" ? ["--next-file", next, ...quick] : [];
      const open = folder.write("open.txt", `${CURRENT}\n`, 0o644);
      const argv = ["webhooks", name, url, "--secret-file", open, ...more];
      const { code, stderr } = await runCommand(argv, { env });
      expect(code).toBe(0);
      expect(stderr).toBe(
        "--secret-file: other users of this machine can read the secret: chmod 600 its file\n",
      );
    },
  );

  test.runIf(process.platform !== "win32")(
    "with a token or a login that others can read give a warning",
    async () => {
      const { url, env } = await setUp();
      const token = folder.write("token.txt", env.GATEWAY_CRM_TOKEN, 0o644);
      const login = folder.write("login.json", '{"user":"partner"}', 0o640);
      const check = async (option: string, file: string) => {
        const argv = ["webhooks", "check", url, option, file];
        const { code, stderr } = await runCommand(argv, { env });
        return [code, stderr];
      };
      const sentence = (option: string, what: string) =>
        `${option}: other users of this machine can read ${what}: chmod 600 its file\n`;
      expect(await check("--token-file", token)).toEqual([
        0,
        sentence("--token-file", "the token"),
      ]);
      expect(await check("--login-file", login)).toEqual([
        0,
        sentence("--login-file", "the login"),
      ]);
      chmodSync(token, 0o600);
      expect(await check("--token-file", token)).toEqual([0, ""]);
    },
  );

  test.each([
    ["", "the file is empty"],
    [" spaced-secret-0123\n", "white space at an end"],
    ["undefined", '"undefined"'],
  ])(
    "with a current secret of %j are refused before anything is asked or made",
    async (text, why) => {
      const { env } = await setUp();
      const bad = folder.write("bad.txt", text, 0o600);
      const made = folder.at("made.txt");
      const { url } = await desk.server(() => expect.unreachable());
      const gateway = { ...env, GATEWAY_BASE_URL: url };
      for (const more of [["check"], ["rotate", "--next-file", made]]) {
        const [name = "", ...options] = more;
        const argv = ["webhooks", name, url, "--secret-file", bad, ...options];
        await expectEnd(runCommand(argv, { env: gateway }), { code: 2, stdout: "", stderr: why });
      }
      expect(existsSync(made)).toBe(false);
    },
  );

  test("of a token and of a login are not named in an error: a path may be the token", async () => {
    const { url, env } = await setUp();
    for (const option of ["--token-file", "--login-file"]) {
      const argv = ["webhooks", "check", url, option, "canary-token-0123456789"];
      const { code, stderr } = await runCommand(argv, { env });
      expect([code, stderr.includes(`${option}: no such file`)]).toEqual([2, true]);
      expect(stderr).not.toContain("canary");
    }
  });

  test("are the advice of register when it made a secret that no replica has", async () => {
    const { url, env, client } = await setUp();
    const register = ["webhooks", "register", url, ...quick];
    // With nothing to create it shows no secret: deployed, it would replace the right one.
    const again = await runCommand(register, { env });
    expect([again.code, /[0-9a-f]{64}|Deploy/.test(again.stdout)]).toEqual([1, false]);
    for (const { id } of await client.webhooks.list()) await client.webhooks.delete(id);
    const registered = await runCommand(register, { env });
    expect(registered.code).toBe(1);
    expect(registered.stdout.replaceAll(/\s+/g, " ")).toContain(
      "save it in a file and run this again with --secret-file",
    );
  });
});
