import http from "node:http";
import { expect, test } from "vitest";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { TEST_SECRET } from "../support/deliveries.js";

async function startBefore(app: string, ...argv: readonly string[]) {
  const command = startCommand(["listen", "--port", "0", "--forward", app, "--json", ...argv]);
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  const entries = () =>
    command
      .stdout()
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { command, url, entries };
}

/** Any bytes. The app must receive exactly these. */
const BODY = '{ "alarm" : { "id" : 1.0, "text": "Å\\u00e5" } }\r\n';

function delivery(secret = TEST_SECRET) {
  return signedDelivery({ type: "new_alarm", secret, body: BODY });
}

/** Sends header lines unchanged, also repeated ones. */
function post(url: string, rawHeaders: readonly string[], body: string) {
  return new Promise<{ status: number | undefined; type: string | undefined; body: string }>(
    (resolve, reject) => {
      const req = http.request(url, { method: "POST" }, (res) => {
        res.setEncoding("utf8");
        let text = "";
        res.on("data", (chunk: string) => (text += chunk));
        res.on("end", () => {
          resolve({ status: res.statusCode, type: res.headers["content-type"], body: text });
        });
      });
      for (let at = 0; at < rawHeaders.length; at += 2) {
        req.appendHeader(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
      }
      req.on("error", reject).end(body);
    },
  );
}

test("the app gets the exact bytes and headers, except those of the connection", async () => {
  const { url: target, seen } = await answeringEndpoint({ status: 200 });
  const { url } = await startBefore(target);
  const { headers } = await delivery();
  const lines = Object.entries(headers).flat();
  const hop = ["Connection", "close, X-Hop", "X-Hop", "1", "TE", "trailers"];
  await post(url, [...lines, "X-Odd-Case", "a", "X-Twice", "1", "X-Twice", "2", ...hop], BODY);

  expect(seen[0]?.body).toBe(BODY);
  const got = seen[0]?.rawHeaders ?? [];
  expect(got.slice(0, lines.length)).toEqual(lines);
  expect(got.join(" ")).toContain("X-Odd-Case a X-Twice 1 X-Twice 2");
  expect(got.join(" ").toLowerCase()).not.toMatch(/x-hop|trailers|connection close/);
  expect(got[got.findIndex((name) => name.toLowerCase() === "host") + 1]).toBe(
    new URL(target).host,
  );
});

test("listen answers with the app's answer, also to a bad delivery", async () => {
  const { url: target } = await answeringEndpoint(
    { status: 418, body: "teapot" },
    { status: 401, body: '{"error":{"code":"NOPE"}}' },
    { status: 200 },
  );
  const { command, url, entries } = await startBefore(target);
  const good = await delivery();
  const first = await post(url, Object.entries(good.headers).flat(), BODY);
  expect(first).toMatchObject({ status: 418, body: "teapot" });
  const forged = await delivery("another secret");
  await post(url, Object.entries(forged.headers).flat(), BODY);
  await post(url, Object.entries(good.headers).flat(), BODY);

  await command.says(/"status":200,[^]*"status":200/);
  expect(entries()).toMatchObject([
    // Authentic, though not of the documented shape: the app decides.
    { outcome: "unrecognized", status: 418, forwarded: { status: 418 } },
    { outcome: "signature_mismatch", status: 401, forwarded: { status: 401, outcome: "nope" } },
    // A duplicate is forwarded too, to show whether the app recognizes it.
    { outcome: "unrecognized", status: 200, forwarded: { status: 200 } },
  ]);
});

test("listen answers 503 for an app that does not answer, so that the gateway sends again", async () => {
  const { command, url, entries } = await startBefore(await silentUrl());
  const { headers } = await delivery();
  const { status, type, body } = await post(url, Object.entries(headers).flat(), BODY);
  expect({ status, type }).toEqual({ status: 503, type: "application/json" });
  expect(JSON.parse(body)).toMatchObject({ error: { code: "APP_UNAVAILABLE" } });
  await command.says(/"delivery"/);
  expect(entries()[0]).toMatchObject({
    status: 503,
    forwarded: { error: expect.any(String) as string },
  });
  expect(entries()[0]?.["forwarded"]).not.toHaveProperty("status");
});

test("listen answers 503 for an app that is too slow", async () => {
  const slow = await serving(http.createServer(() => undefined));
  const { url } = await startBefore(slow, "--timeout", "50");
  const { headers } = await delivery();
  expect((await post(url, Object.entries(headers).flat(), BODY)).status).toBe(503);
});

test("the listing says that the app did not answer", async () => {
  const argv = ["listen", "--port", "0", "--forward", await silentUrl(), "--show-body"];
  const command = startCommand(argv, { isTTY: true, env: { NO_COLOR: "1" }, columns: 60 });
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  await post(url, [], "\u00ff");
  await command.says(/503 malformed [^]*\n +The app did not answer within [^]*ECONNREFUSED/);
  await command.says(/The body, from an unknown sender:\n {10}│ ÿ\n/);
  await fetch(url, { method: "POST", body: Uint8Array.of(0xff) });
  await command.says(/from an unknown sender, in base64:\n {10}│ \/w==\n/);
  const details = command
    .stdout()
    .split("\n")
    .filter((line) => line.startsWith("   "));
  expect(details.filter((line) => line.length > 60)).toEqual([]);
});

test("a duplicate is shown as authentic: the app decides", async () => {
  const { url: target } = await answeringEndpoint({ status: 200 });
  const { command, url, entries } = await startBefore(target);
  const alarm = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
  await fetch(url, alarm);
  await fetch(url, alarm);
  await command.says(/"delivery"[^]*"delivery"/);
  expect(entries()).toMatchObject([
    { outcome: "authentic", reasons: [] },
    { outcome: "authentic", reasons: [] },
  ]);
});

test("without a secret every delivery is shown as unverified, also when the app accepts it", async () => {
  const { url: target } = await answeringEndpoint({ status: 200 });
  const env = { GATEWAY_WEBHOOK_SECRET: undefined };
  const argv = ["listen", "--port", "0", "--forward", target, "--accept-unsigned"];
  const command = startCommand(argv, { env });
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  await fetch(url, await signedDelivery({ alarm: sampleAlarm(), secret: "unknown to it" }));
  await command.says(/200 unverified +new_alarm/);
});

test("the listing shows the app's answer, and calls a delivery authentic, not handled", async () => {
  const { url: target } = await answeringEndpoint(
    { status: 503 },
    { status: 409, body: '{"outcome":"busy"}' },
  );
  const command = startCommand(["listen", "--port", "0", "--forward", target]);
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/), forwarding to/);
  const event = sampleOnlineDataEvent("DATA_DELETED");
  const { headers, body } = await signedDelivery({ event, secret: TEST_SECRET });
  await post(url, Object.entries(headers).flat(), String(body));
  await command.says(/503 authentic +delete_my_data_event .*\n +The app answered 503 in/);
  await post(url, Object.entries(headers).flat(), String(body));
  await command.says(/409 authentic +delete_my_data_event .*\n +The app answered 409 busy in/);
});

test("an app that refuses a good delivery is shown with the usual causes of its outcome", async () => {
  const { url: target } = await answeringEndpoint({
    status: 503,
    body: '{"error":{"code":"BODY_CONSUMED","message":"…"}}',
  });
  const { command, url, entries } = await startBefore(target);
  await fetch(url, await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET }));
  await command.says(/"delivery"/);
  expect(entries()).toMatchObject([
    {
      outcome: "authentic",
      reasons: [
        expect.stringContaining("your app answered body_consumed: "),
        expect.stringContaining("mount the receiver before it"),
      ],
    },
  ]);
});

test.each(["GET", "HEAD", "OPTIONS"])(
  "a delivery that a redirect turned into %s does not reach the app as a POST without a body",
  async (method) => {
    const reached: unknown[] = [];
    const app = http.createServer((req, res) => {
      reached.push(req.method);
      res.end("ok");
    });
    const { command, url, entries } = await startBefore(await serving(app));
    const { headers } = await delivery();
    expect((await fetch(url, { method, headers })).status).toBe(409);
    await command.says(/"outcome":"malformed"/);
    expect(entries()).toMatchObject([
      {
        reasons: [expect.stringContaining("something in front redirects it")],
        findings: expect.arrayContaining([
          expect.objectContaining({ code: "method_not_post" }),
        ]) as unknown,
      },
    ]);
    expect(reached).toEqual([]);
  },
);
