import { readdirSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { startCommand } from "../support/cli/cli-io.js";
import { silentUrl } from "../support/cli/cli-endpoint.js";
import { serving } from "../support/serving.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { connectRaw } from "../support/raw-connection.js";
import { testCertificate } from "../support/servers.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

async function startApp(answer: http.RequestListener): Promise<string> {
  const server = http.createServer((req, res) => {
    req.resume().on("end", () => answer(req, res));
  });
  return serving(server);
}

async function startBefore(app: string, ...argv: readonly string[]) {
  const command = startCommand(["listen", "--port", "0", "--forward", app, "--json", ...argv]);
  const [, url = ""] = await command.says(/(http:\/\/127\.0\.0\.1:\d+\/)/);
  return { command, url };
}

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

const alarm = () => signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });

describe("listen answers 503 in place of an app's answer that cannot be forwarded:", () => {
  test("an answer of more than 1 MiB; one of 1 MiB is forwarded", async () => {
    let bytes = 1_048_576;
    const { command, url } = await startBefore(
      await startApp((_req, res) => res.end("x".repeat(bytes))),
    );
    const whole = await fetch(url, await alarm());
    expect(whole.status).toBe(200);
    expect(await whole.text()).toHaveLength(1_048_576);
    bytes++;
    const longer = await fetch(url, await alarm());
    expect(longer.status).toBe(503);
    expect(await longer.json()).toMatchObject({ error: { code: "APP_UNAVAILABLE" } });
    await command.says(/"status":503.*its answer is longer than 1048576 bytes/);
  });

  test("a compressed answer, which listen does not request", async () => {
    const asked: unknown[] = [];
    const app = await startApp((req, res) => {
      asked.push(req.headers["accept-encoding"]);
      res.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync('{"outcome":"handled"}'));
    });
    const { command, url } = await startBefore(app);
    const { headers, ...delivery } = await alarm();
    const wanted = { ...headers, "Accept-Encoding": "gzip" };
    expect((await fetch(url, { ...delivery, headers: wanted })).status).toBe(503);
    await command.says(/"error":"its answer is compressed"/);
    expect(asked).toEqual(["identity"]);
  });
});

test("a self-signed certificate is accepted only with --insecure", async () => {
  const server = https.createServer(testCertificate, (_req, res) => res.writeHead(202).end());
  const app = (await serving(server)).replace("http", "https");
  const strict = await startBefore(app);
  expect((await fetch(strict.url, await alarm())).status).toBe(503);
  await strict.command.says(/"error":"[^"]*certificate/);
  const insecure = await startBefore(app, "--insecure");
  expect((await fetch(insecure.url, await alarm())).status).toBe(202);
});

test("listen answers 503 when the app breaks off its answer", async () => {
  const app = await startApp((_req, res) => {
    res.writeHead(200, { "content-length": "100" }).write('{"outcome":"handled"}');
    setImmediate(() => res.destroy());
  });
  const { command, url } = await startBefore(app);
  expect((await fetch(url, await alarm())).status).toBe(503);
  await command.says(/"status":503,.*"error":"[^"]+"/);
});

test("a header that is sent in two letter cases is forwarded as two lines", async () => {
  const seen: string[][] = [];
  const app = await startApp((req, res) => {
    seen.push(req.rawHeaders);
    res.end();
  });
  const { url } = await startBefore(app);
  const connection = await connectRaw(Number(new URL(url).port));
  const lines = ["Host: a", "X-Foo: 1", "x-foo: 2", "Content-Length: 0", "Connection: close"];
  await connection.write(`POST / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  await connection.answers(1);
  connection.socket.destroy();
  expect(seen[0]?.join(" ")).toContain("X-Foo 1 X-Foo 2");
});

describe("in front of an app listen records", () => {
  const OUTCOME = '{"outcome":"in_flight"}';
  test.each([
    ["as a plain receiver does", 200, "", "handled 200", { outcome: "handled", status: 200 }],
    ["another status that acknowledges", 204, "", "handled 204", undefined],
    ["a status that refuses", 401, "", "handler_failed 401", undefined],
    ["a failure", 500, "", "handler_failed 500", undefined],
    ["an outcome of ours", 409, OUTCOME, "in_flight 409", undefined],
    ["an outcome that is not of its status", 418, OUTCOME, "handler_failed 418", undefined],
  ])("%s", async (_what, status, body, answered, expected) => {
    const app = await startApp((_req, res) => res.writeHead(status).end(body));
    const { fixture, entry } = await recordedBefore(app);
    expect(fixture?.description).toContain(`answered ${answered}`);
    expect(fixture?.expect).toEqual(expected);
    expect(entry).toMatchObject({ outcome: "authentic", status });
    expect(Object.keys(entry).sort()).toEqual([
      "at",
      "bytes",
      "durationMs",
      "event",
      "findings",
      "forwarded",
      "id",
      "outcome",
      "reasons",
      "status",
      "type",
    ]);
  });

  test("that the app did not answer", async () => {
    const { fixture } = await recordedBefore(await silentUrl());
    expect(fixture?.description).toContain("answered handler_failed 503");
    expect(fixture).not.toHaveProperty("expect");
  });

  async function recordedBefore(app: string) {
    const { command, url } = await startBefore(app, "--record", folder.at());
    await (await fetch(url, await alarm())).text();
    const [line = ""] = await command.says(/\{"event":"delivery".*\}/);
    await command.stop();
    expect(readdirSync(folder.at())).toHaveLength(1);
    const [fixture] = await loadFixtures(folder.at());
    return { fixture, entry: JSON.parse(line) as Record<string, unknown> };
  }
});
