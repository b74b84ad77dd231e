import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { listenPage } from "../../docs/listen-page.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { expectEnd, startListening, type TestWorld } from "../support/cli/cli-io.js";
import { freePort } from "../support/free-port.js";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { alarm as alarmRecord, TEST_SECRET } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";
import { textOf } from "../support/package/sources.js";
import { serving } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const NAME = "Astrid Exempel";
const RECORD = { text: `${NAME} was found`, account_id: 424_242_424_242, payload: "{}" };
const BODY = JSON.stringify({ alarm: alarmRecord(RECORD) });

function alarm(
  overrides: { secret?: string; timestamp?: number; body?: string | Uint8Array } = {},
) {
  return signedDelivery({ type: "new_alarm", secret: TEST_SECRET, body: BODY, ...overrides });
}

/** An alarm of about this many bytes. */
function alarmOf(bytes: number, secret = TEST_SECRET) {
  const record = alarmRecord({ text: "x".repeat(bytes) });
  return alarm({ secret, body: JSON.stringify({ alarm: record }) });
}

test("listen prints a line per delivery, and no part of its body", async () => {
  const { command, url } = await startListening();
  const delivery = await alarm();
  const first = await fetch(url, delivery);
  const second = await fetch(`${url}any/path`, delivery);

  expect(await first.json()).toEqual({ outcome: "handled" });
  expect(await second.json()).toEqual({ outcome: "duplicate" });
  await command.says(/duplicate/);
  const id = delivery.headers["X-Webhook-Id"];
  const size = `${String(BODY.length)} bytes`;
  expect(command.stdout()).toMatch(new RegExp(`200 handled +new_alarm  ${id}  ${size}, `));
  const signature = delivery.headers["X-Webhook-Signature"];
  for (const secret of [NAME, "424242424242", TEST_SECRET, signature]) {
    expect(command.stdout()).not.toContain(secret);
  }
});

test("listen shows a request that is not authentic without its id, with the reason and the fix", async () => {
  const { command, url } = await startListening();
  const { body, ...delivery } = await alarm();
  expect((await fetch(url, { ...delivery, body: `${String(body)}\n` })).status).toBe(409);
  await command.says(/409 signature_mismatch +\d+ bytes[^]*body_trailing_newline: .*\n +Fix: \S/);
  expect(command.stdout()).not.toContain(delivery.headers["X-Webhook-Id"]);
  expect(command.stdout()).not.toContain(NAME);
});

test("listen gives a reason for a repeated header, an old delivery and an undocumented body", async () => {
  const { command, url, entries } = await startListening(["--json"]);
  expect(JSON.parse(command.stdout())).toMatchObject({ event: "listening", url });
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
  expect(entries()).toMatchObject([
    { outcome: "malformed", status: 409, findings: [{ code: "header_repeated" }] },
    { outcome: "stale", type: "new_alarm", findings: [{ code: "timestamp_behind" }] },
    { outcome: "unrecognized", status: 503, findings: [] },
    { outcome: "reachable", status: 200, bytes: 0 },
    { outcome: "method_not_allowed", status: 405, bytes: 0 },
  ]);
  expect(entries()[2]?.["reasons"]).toContain("alarm.text: expected a string");
});

test("listen accepts either secret during a rotation", async () => {
  const { command, url } = await startListening(["--secret", "next", "--secret", "current"]);
  await fetch(url, await alarm({ secret: "current" }));
  await command.says(/200 handled/);
});

describe("--record", () => {
  test("writes fixtures that hold no personal data and can be replayed", async () => {
    const directory = folder.at("recorded");
    const { command, url } = await startListening(["--record", directory]);
    await fetch(url, await alarm());
    await fetch(url, { ...(await alarm()), body: "{}" });
    await command.says(/recorded: .*\.json/);
    await command.says(/signature_mismatch/);
    const files = readdirSync(directory);
    expect(files).toHaveLength(1);
    expect(readFileSync(path.join(directory, files[0] ?? ""), "utf8")).not.toContain("Astrid");

    await expectEnd(`replay ${directory} --to ${url}`, { stdout: "✓ 1 as expected" });
    expect(await loadFixtures(directory)).toMatchObject([{ expect: { outcome: "handled" } }]);
  });

  test("keeps keys of the payload with --keep-keys, and their values with --keep-values", async () => {
    const keys = ["--keep-keys", "alarm.payload.breach.name"];
    const values = ["--keep-values", "alarm.payload.breach.year"];
    const recording = ["--record", folder.at("kept"), ...keys, ...values];
    const { command, url } = await startListening(recording);
    const payload = '{"breach":{"name":"Exempel","year":2019,"Astrid":1}}';
    await fetch(url, await alarm({ body: BODY.replace('"{}"', JSON.stringify(payload)) }));
    await command.says(/recorded: .*\.json/);
    const [recorded] = await loadFixtures(folder.at("kept"));
    const body = JSON.parse(String(recorded?.body)) as { alarm: { payload: string } };
    const kept = { breach: { name: "xxxxxxx", year: 2019, key0: 9 } };
    expect(JSON.parse(body.alarm.payload)).toEqual(kept);
  });

  test.each([[[]], [["--json"]]])("says why it cannot record a delivery: %j", async (argv) => {
    const taken = folder.write("taken", "");
    const { command, url } = await startListening(["--record", taken, ...argv]);
    await fetch(url, await alarm());
    await command.says(/(not recorded: |"reason":")its file could not be written: E[A-Z]+/);
  });
});

test("listen refuses to run without a secret, unless --accept-unsigned is set", async () => {
  const env = { GATEWAY_WEBHOOK_SECRET: undefined };
  await expectEnd("listen", { code: 2, stderr: "--accept-unsigned" }, { env });
  await expectEnd("listen --accept-unsigned", { code: 2 });

  const { command, url } = await startListening(["--accept-unsigned"], { env });
  expect(command.stderr()).toContain("deliveries from anyone are accepted");
  const { headers, body } = await alarm();
  const unsigned = new Headers(headers);
  unsigned.delete("X-Webhook-Signature");
  expect((await fetch(url, { method: "POST", headers: unsigned, body })).status).toBe(200);
  expect((await fetch(url, { method: "POST", body })).status).toBe(409);
  await command.says(/409 malformed/);
});

test.each([
  ["--host 192.0.2.1", "not an address of this machine"],
  [`--host ${"x".repeat(300)}`, "getaddrinfo"],
  ["--keep-keys alarm.payload.name", "--keep-keys and --keep-values need --record"],
  ["--record there --keep-values alarm.**", "must contain dotted paths"],
])("listen %s is refused", async (options, stderr) => {
  await expectEnd(`listen --port 0 ${options}`, { code: 2, stdout: "", stderr });
});

test("a port in use and a bad secret are one line", async () => {
  const { port } = new URL(await serving(http.createServer()));
  const stderr = `port ${port} is in use`;
  await expectEnd(`listen --port ${port}`, { code: 2, stdout: "", stderr });
  const page = `listen --port 0 --page --page-port ${port}`;
  await expectEnd(page, { code: 2, stderr: `${stderr}: choose another with --page-port` });
  const alone = { code: 2, stderr: "--page-port needs --page" };
  await expectEnd(`listen --page-port ${port}`, alone);
  const spaced = ["listen", "--secret", " spaced "];
  await expectEnd(spaced, { stderr: "white space", never: "spaced" });
});

test("the page is on the port of --page-port", async () => {
  const port = String(await freePort());
  const { command } = await startListening(["--page", "--page-port", port]);
  await command.says(new RegExp(`the page: http://127\\.0\\.0\\.1:${port}/#\\w+`));
});

test("Ctrl-C closes the port, also during a request that hangs", async () => {
  const { command, url } = await startListening();
  const hanging = http.request(url, { method: "POST", headers: { "content-length": 10 } });
  hanging.on("error", () => undefined).write("12345");
  await eventually(() => hanging.socket?.connecting).toBe(false);
  expect(await command.stop()).toBe(130);
  await expect(fetch(url)).rejects.toThrow();
});

const interfaces = Object.values(networkInterfaces()).flat();
const hasIpv6 = interfaces.some((network) => network?.address === "::1");

test.runIf(hasIpv6)("an IPv6 address is a host too", async () => {
  const { url } = await startListening(["--json", "--host", "::1"]);
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/$/);
  expect((await fetch(url, await alarm())).status).toBe(200);
});

test("a body over the limit is recognized by its length and not forwarded", async () => {
  const app = await answeringEndpoint({ status: 200 });
  const argv = ["--json", "--max-body-bytes", "2000", "--forward", app.url];
  const { command, url, entries } = await startListening(argv);
  expect((await fetch(url, await alarmOf(2_000))).status).toBe(409);
  await command.says(/"delivery"/);
  const reasons = [
    expect.stringContaining("larger than the limit allows"),
    expect.stringContaining("Usual causes: deliveries have grown: raise maxBodyBytes"),
  ];
  const refused = { outcome: "body_too_large", status: 409, bytes: 0, findings: [], reasons };
  expect(entries()).toMatchObject([refused]);
  expect(app.seen).toEqual([]);
});

test("a long body within the limit is not named as the reason for a bad signature", async () => {
  const argv = ["--json", "--max-body-bytes", "3000000"];
  const { command, url, entries } = await startListening(argv);
  expect((await fetch(url, await alarmOf(2_000_000, "another secret"))).status).toBe(409);
  await command.says(/"delivery".*\n/);
  const [{ outcome, findings } = {}] = entries();
  expect(outcome).toBe("signature_mismatch");
  expect(findings).not.toEqual([]);
  expect(JSON.stringify(findings)).not.toContain("body_too_large");
});

describe("--show-body", () => {
  const FORGED = "12:00:00  200 handled             new_alarm  forged  10 bytes, 1 ms";
  const INVISIBLE = "\u061c\u200b\u200d\u200e\u202e\u2028\u2029\u2060\u2066\ufeff\u{e0041}";
  const SPELT =
    "\\u061c\\u200b\\u200d\\u200e\\u202e\\u2028\\u2029\\u2060\\u2066\\ufeff\\udb40\\udc41";

  async function shownBody(body: string, world: TestWorld = {}) {
    const { command, url } = await startListening(["--show-body"], world);
    await fetch(url, await alarm({ body }));
    await command.says(/The body:[^]*\n$/);
    const lines = stripVTControlCharacters(command.stdout()).split("\n");
    return lines.slice(lines.findIndex((line) => line.includes("The body:")) + 1, -1);
  }

  test("shows the body, which cannot control the terminal", async () => {
    const body = `a\u001b[2J${INVISIBLE}b`;
    expect(await shownBody(body)).toEqual([`          │ a\\u001b[2J${SPELT}b`]);

    const { command, url, entries } = await startListening(["--show-body", "--json"]);
    await fetch(url, await alarm({ body }));
    await command.says(/"delivery".*\n/);
    expect(command.stdout()).toContain(`"body":"a\\u001b[2J${SPELT}b"`);
    expect(entries()).toMatchObject([{ body }]);
    await fetch(url, { method: "POST", body: Uint8Array.of(0xff, 0xfe) });
    await command.says(/"bodyBase64":"\/\/4="/);
  });

  test("indents each line of a body, which so cannot forge a line of the listing", async () => {
    const lines = await shownBody(`{}\n${FORGED}\r\n${FORGED}\u2028${FORGED}\u2029${FORGED}\n\n`);
    expect(lines).toEqual([
      "          │ {}",
      `          │ ${FORGED}\\u000d`,
      `          │ ${FORGED}\\u2028${FORGED}\\u2029${FORGED}`,
      "          │ ",
      "          │ ",
    ]);
  });

  test("breaks a long line of a body before the terminal would wrap it", async () => {
    const text = `${"日".repeat(60)}${FORGED.repeat(3)}`;
    const lines = await shownBody(text, { isTTY: true, columns: 60 });
    expect(lines.length).toBeGreaterThan(6);
    for (const line of lines) {
      expect(line).toMatch(/^ {10}│ /);
      // A character of an East Asian script takes two columns.
      expect(line.replaceAll("日", "..").length).toBeLessThanOrEqual(60);
    }
    expect(lines.map((line) => line.slice(12)).join("")).toBe(text);
  });

  test("shows a body on a terminal of a few columns too", async () => {
    const lines = await shownBody("abcdef", { isTTY: true, columns: 5 });
    expect(lines).toEqual(["          │ abcdef"]);
  });
});

describe("--page", () => {
  test("prints one address with a token of 128 bits, and serves the page on a port of its own", async () => {
    const { command, url } = await startListening(["--page"]);
    const [, address = "", token] = await command.says(/the page: (http:\S+#([0-9a-f]{32}))\n/);
    expect(token).toHaveLength(32);
    expect(new URL(address).port).not.toBe(new URL(url).port);
    const answer = await fetch(address);
    const html = await answer.text();
    expect(html).toContain(`data-url="${url}"`);
    expect(html).toContain("<option>iban_hacked</option>");
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(30_000);
    const hashOf = (tag: string): string => {
      const [, text = ""] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
      return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    };
    const own = `script-src ${hashOf("script")}; style-src ${hashOf("style")}; connect-src 'self'`;
    const none = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    const policy = `default-src 'none'; ${own}; ${none}; require-trusted-types-for 'script'`;
    expect(answer.headers.get("content-security-policy")).toBe(policy);
    // The port of the deliveries may be public, so it has no page and no list.
    const { status } = await fetch(new URL("/deliveries", url), { method: "POST" });
    expect(status).toBe(409);
    expect(await command.stop()).toBe(130);
    await expect(fetch(address)).rejects.toThrow();
  });

  test("is the page of its sources", async () => {
    const made = textOf("cli/page/page-html.ts");
    expect(made).toBe(await listenPage());
  });
});
