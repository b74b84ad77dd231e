import { readdirSync } from "node:fs";
import http from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { sampleAlarm, sampleOnlineDataEvent, signedDelivery } from "../../kit/index.js";
import { startListening, type TestWorld } from "../support/cli/cli-io.js";
import { answeringEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { connectRaw } from "../support/raw-connection.js";
import { serving, servingTls } from "../support/serving.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

/** Starts `listen` in front of an app, with a line of JSON for each delivery. */
function startBefore(app: string, ...argv: readonly string[]) {
  return startListening(["--forward", app, "--json", ...argv]);
}

/** Starts `listen` in front of an app, with its listing. */
function listingBefore(app: string, argv: readonly string[] = [], world: TestWorld = {}) {
  return startListening(["--forward", app, ...argv], world);
}

/** An app that reads each request before it answers. */
function startApp(answer: http.RequestListener): Promise<string> {
  return serving(
    http.createServer((req, res) => void req.resume().on("end", () => answer(req, res))),
  );
}

/** An app whose answer has so many bytes. */
const answeringWith = (bytes: number) => startApp((_req, res) => res.end("x".repeat(bytes)));

/** An app with a certificate that no one trusts. */
const startTls = (status: number) => servingTls((_req, res) => res.writeHead(status).end());

/** Any bytes. The app must receive exactly these. */
const BODY = '{ "alarm" : { "id" : 1.0, "text": "Å\\u00e5" } }\r\n';

const alarm = (secret = TEST_SECRET) => signedDelivery({ alarm: sampleAlarm(), secret });
const undocumented = (secret = TEST_SECRET) =>
  signedDelivery({ type: "new_alarm", secret, body: BODY });

test("the app gets the exact bytes and headers, except those of the connection", async () => {
  const { url: target, seen } = await answeringEndpoint({ status: 200 });
  const { url } = await startBefore(target);
  const { headers } = await undocumented();
  const lines = Object.entries(headers).flat();
  const odd = ["X-Odd-Case", "a", "X-Twice", "1", "x-twice", "2"];
  const hop = ["Connection", "close, X-Hop", "X-Hop", "1", "TE", "trailers"];
  const size = ["Content-Length", String(Buffer.byteLength(BODY))];
  const connection = await connectRaw(Number(new URL(url).port));
  const all = ["Host", "a", ...lines, ...odd, ...hop, ...size];
  const head = all.map((part, at) => (at % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join("");
  await connection.write(`POST / HTTP/1.1\r\n${head}\r\n${BODY}`);
  await connection.answers(1);
  connection.socket.destroy();

  expect(seen[0]?.body).toBe(BODY);
  const got = seen[0]?.rawHeaders ?? [];
  expect(got.join("\n")).toContain(lines.join("\n"));
  expect(got.join(" ")).toContain("X-Odd-Case a X-Twice 1 X-Twice 2");
  expect(got.join(" ").toLowerCase()).not.toMatch(/x-hop|trailers|connection close/);
  const host = got[got.findIndex((name) => name.toLowerCase() === "host") + 1];
  expect(host).toBe(new URL(target).host);
});

test("listen answers with the app's answer, also to a bad delivery", async () => {
  const { url: target } = await answeringEndpoint(
    { status: 418, body: "teapot" },
    { status: 401, body: '{"error":{"code":"NOPE"}}' },
    { status: 200 },
  );
  const { command, url, entries } = await startBefore(target);
  const good = await undocumented();
  const first = await fetch(url, good);
  expect([first.status, await first.text()]).toEqual([418, "teapot"]);
  await fetch(url, await undocumented("another secret"));
  await fetch(url, good);

  await command.says(/"status":200,[^]*"status":200/);
  expect(entries()).toMatchObject([
    // Authentic, though not of the documented shape: the app decides.
    { outcome: "unrecognized", status: 418, forwarded: { status: 418 } },
    { outcome: "signature_mismatch", status: 401, forwarded: { status: 401, outcome: "nope" } },
    { outcome: "unrecognized", status: 200, forwarded: { status: 200 } },
  ]);
});

test("the bytes of an app's answer and the headers that describe them are forwarded unchanged", async () => {
  const bytes = Uint8Array.of(0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0d, 0x0a);
  const head = { "content-type": "text/plain; charset=latin1", "retry-after": "7", allow: "POST" };
  const app = await startApp((_req, res) =>
    res.writeHead(405, { ...head, "x-app": "its own" }).end(bytes),
  );
  const { command, url } = await startBefore(app);
  const answer = await fetch(url, await alarm());
  expect(answer.status).toBe(405);
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
  expect(Object.fromEntries(answer.headers)).toMatchObject({ ...head, "content-length": "7" });
  expect(answer.headers.has("x-app")).toBe(false);
  await command.says(/"status":405,"ms"/);
});

describe("listen answers 503, so that the gateway sends again,", () => {
  const breakingOff: http.RequestListener = (_req, res) => {
    res.writeHead(200, { "content-length": "100" }).write('{"outcome":"handled"}');
    setImmediate(() => res.destroy());
  };
  const compressing: http.RequestListener = (req, res) => {
    // It asks for no compression.
    const status = req.headers["accept-encoding"] === "identity" ? 200 : 500;
    res.writeHead(status, { "content-encoding": "gzip" }).end(gzipSync('{"outcome":"handled"}'));
  };

  test.each<[string, () => Promise<string>, readonly string[], RegExp]>([
    ["an app that does not answer", silentUrl, [], /ECONNREFUSED/],
    ["an app that is too slow", () => startApp(() => undefined), ["--timeout", "50"], /./],
    ["an app that breaks off its answer", () => startApp(breakingOff), [], /./],
    ["a compressed answer", () => startApp(compressing), [], /^its answer is compressed$/],
    ["an answer of more than 1 MiB", () => answeringWith(1_048_577), [], /longer than 1048576/],
    ["an untrusted certificate", () => startTls(200), [], /certificate/],
  ])("for %s", async (_what, app, argv, error) => {
    const { command, url, entries } = await startBefore(await app(), ...argv);
    const delivery = await alarm();
    const headers = { ...delivery.headers, "Accept-Encoding": "gzip" };
    const answer = await fetch(url, { ...delivery, headers });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "application/json"]);
    expect(await answer.json()).toMatchObject({ error: { code: "APP_UNAVAILABLE" } });
    await command.says(/"delivery".*\n/);
    const forwarded = { error: expect.stringMatching(error) as string };
    expect(entries()).toMatchObject([{ status: 503, forwarded }]);
    expect(entries()[0]?.["forwarded"]).not.toHaveProperty("status");
  });

  test("and not for an answer of 1 MiB, or a certificate with --insecure", async () => {
    const { url } = await startBefore(await answeringWith(1_048_576));
    const whole = await fetch(url, await alarm());
    expect(whole.status).toBe(200);
    expect(await whole.text()).toHaveLength(1_048_576);
    const insecure = await startBefore(await startTls(202), "--insecure");
    expect((await fetch(insecure.url, await alarm())).status).toBe(202);
  });
});

describe("the listing", () => {
  test("says that the app did not answer", async () => {
    const world = { isTTY: true, env: { NO_COLOR: "1" }, columns: 60 };
    const { command, url } = await listingBefore(await silentUrl(), ["--show-body"], world);
    await fetch(url, { method: "POST", body: "\u00ff" });
    await command.says(/503 malformed [^]*\n +The app did not answer within [^]*ECONNREFUSED/);
    await command.says(/The body, from an unknown sender:\n {10}│ ÿ\n/);
    await fetch(url, { method: "POST", body: Uint8Array.of(0xff) });
    await command.says(/from an unknown sender, in base64:\n {10}│ \/w==\n/);
    const lines = command.stdout().split("\n");
    expect(lines.filter((line) => line.startsWith("   ") && line.length > 60)).toEqual([]);
  });

  test("shows every delivery as unverified without a secret, also when the app accepts it", async () => {
    const { url: target } = await answeringEndpoint({ status: 200 });
    const env = { GATEWAY_WEBHOOK_SECRET: undefined };
    const { command, url } = await listingBefore(target, ["--accept-unsigned"], { env });
    await fetch(url, await alarm("unknown to it"));
    await command.says(/200 unverified +new_alarm/);
  });

  test("shows the app's answer, and calls a delivery authentic, not handled", async () => {
    const busy = { status: 409, body: '{"outcome":"busy"}' };
    const { url: target } = await answeringEndpoint({ status: 503 }, busy);
    const { command, url } = await listingBefore(target);
    await command.says(/, forwarding to/);
    const event = sampleOnlineDataEvent("DATA_DELETED");
    const sent = await signedDelivery({ event, secret: TEST_SECRET });
    await fetch(url, sent);
    await command.says(/503 authentic +delete_my_data_event .*\n +The app answered 503 in/);
    await fetch(url, sent);
    await command.says(/409 authentic +delete_my_data_event .*\n +The app answered 409 busy in/);
  });
});

test("an app that refuses a good delivery is shown with the usual causes of its outcome", async () => {
  const body = '{"error":{"code":"BODY_CONSUMED","message":"…"}}';
  const { url: target } = await answeringEndpoint({ status: 503, body });
  const { command, url, entries } = await startBefore(target);
  await fetch(url, await alarm());
  await command.says(/"delivery".*\n/);
  const reasons = [
    expect.stringContaining("your app answered body_consumed: "),
    expect.stringContaining("mount the receiver before it"),
  ];
  expect(entries()).toMatchObject([{ outcome: "authentic", reasons }]);
});

test.each(["GET", "HEAD", "OPTIONS"])(
  "a delivery that a redirect turned into %s does not reach the app as a POST without a body",
  async (method) => {
    const app = await answeringEndpoint({ status: 200 });
    const { command, url, entries } = await startBefore(app.url);
    const { headers } = await alarm();
    expect((await fetch(url, { method, headers })).status).toBe(409);
    await command.says(/"outcome":"malformed".*\n/);
    const [{ reasons, findings } = {}] = entries();
    expect(reasons).toEqual([expect.stringContaining("something in front redirects it")]);
    expect(JSON.stringify(findings)).toContain('"method_not_post"');
    expect(app.seen).toEqual([]);
  },
);

const OUTCOME = '{"outcome":"in_flight"}';
test.each([
  ["an answer as a plain receiver's", 200, "", "handled"],
  ["another status that acknowledges", 204, "", "handled"],
  ["a status that refuses", 401, "", "handler_failed"],
  ["an outcome of ours", 409, OUTCOME, "in_flight"],
  ["an outcome that is not of its status", 418, OUTCOME, "handler_failed"],
  ["that the app did not answer", undefined, "", "handler_failed"],
])("in front of an app listen records %s", async (_what, status, body, outcome) => {
  const target =
    status === undefined ? await silentUrl() : (await answeringEndpoint({ status, body })).url;
  const { command, url, entries } = await startBefore(target, "--record", folder.at());
  await (await fetch(url, await alarm())).text();
  await command.says(/\{"event":"delivery".*\}/);
  await command.stop();
  expect(readdirSync(folder.at())).toHaveLength(1);
  const [fixture] = await loadFixtures(folder.at());
  expect(fixture?.description).toContain(`answered ${outcome} ${status ?? 503}`);
  expect(fixture?.expect).toEqual(status === 200 ? { outcome, status } : undefined);
  expect(entries()[0]).toMatchObject({ outcome: "authentic", status: status ?? 503 });
  expect(Object.keys(entries()[0] ?? {}).sort()).toEqual(
    "at bytes durationMs event findings forwarded id outcome reasons status type".split(" "),
  );
});
