import { execFile } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import type { DeliveryContext } from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { alarmBody, delivery } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { isListening } from "../support/free-port.js";
import { findProgram, startServer } from "../support/server-process.js";
import { listen } from "../support/servers.js";
import { readMarkdown } from "../support/package/markdown.js";
import { temporaryFolder } from "../support/temporary-folder.js";

interface ApiRequest {
  readonly line: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

const PAGE = readMarkdown("docs/going-live.md");
const NGINX = findProgram("nginx", "/usr/sbin");
const requests: ApiRequest[] = [];
const folder = temporaryFolder(afterAll);
let api: http.Server;
let env: Readonly<Record<string, string | undefined>>;

beforeAll(async () => {
  folder.write("login.json", '{"keep_logged":true}');
  api = http.createServer((req, res) => {
    void text(req).then((body) => {
      requests.push({ line: `${req.method ?? ""} ${req.url ?? ""}`, headers: req.headers, body });
      res.writeHead(req.method === "POST" ? 201 : 200, { "Content-Type": "application/json" });
      res.end('{"data":{}}');
    });
  });
  const { port } = await listen(api);
  env = {
    PATH: process.env["PATH"],
    GATEWAY_BASE_URL: `http://127.0.0.1:${String(port)}`,
    GATEWAY_CRM_TOKEN: "token-of-the-test",
    WEBHOOK_ID: "7",
  };
});

afterAll(() => {
  api.close();
});

async function run(script: string): Promise<void> {
  await promisify(execFile)("bash", ["-euc", script], { cwd: folder.at(), env });
}

test("the commands of docs/going-live.md make a secret, log in, register both webhooks and read them", async () => {
  await run(PAGE.snippet("sh", "openssl rand"));
  const file = folder.at("gateway-webhook.secret");
  const secret = readFileSync(file, "utf8");
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(statSync(file).mode & 0o077).toBe(0);

  const withSecret = `export GATEWAY_WEBHOOK_SECRET=$(cat gateway-webhook.secret)\n`;
  for (const marker of ["auth/login", "for type in", "/api/v1/webhooks", "$WEBHOOK_ID/requests"]) {
    await run(withSecret + PAGE.snippet("sh", marker));
  }
  expect(requests.map(({ line }) => line)).toEqual([
    "POST /api/v1/crm/auth/login",
    "POST /api/v1/webhook",
    "POST /api/v1/webhook",
    "GET /api/v1/webhooks",
    "GET /api/v1/webhook/7/requests",
  ]);
  expect(new Set(requests.map(({ headers }) => headers["x-api-version"]))).toEqual(
    new Set(["2026-06-12"]),
  );
  expect(requests.slice(1).map(({ headers }) => headers.authorization)).toEqual(
    Array(4).fill("Bearer token-of-the-test"),
  );
  const webhooks = requests
    .filter(({ line }) => line === "POST /api/v1/webhook")
    .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  const url = "https://example.com/webhooks/gateway";
  const flags = { is_active: true, skip_ssl_verification: false, enable_requests_history: true };
  expect(webhooks).toEqual(
    ["new_alarm", "delete_my_data_event"].map((type) => ({
      title: `Receiver of ${type}`,
      url,
      type,
      secret,
      ...flags,
    })),
  );
});

describeService("nginx", NGINX === undefined ? "nginx is not installed" : undefined, () => {
  test("the nginx of docs/going-live.md passes deliveries on, also one over a megabyte, and redirects none", async () => {
    const lengths: number[] = [];
    const handle = ({ rawBody }: DeliveryContext) => void lengths.push(rawBody.length);
    const receiver = alarmReceiver(handle, { maxBodyBytes: 2_000_000 });
    const app = http.createServer(nodeHandler(receiver));
    const { port: upstream } = await listen(app);
    const { port, close } = await startServer({
      name: "nginx",
      command: NGINX ?? "nginx",
      args: (_port, at) => ["-c", path.join(at, "nginx.conf"), "-p", at],
      prepare(at, own) {
        const lines = PAGE.snippet("nginx", "upstream receiver")
          .replace("listen 443 ssl;", `listen 127.0.0.1:${String(own)};`)
          .replaceAll(/^ *ssl_.*$/gm, "")
          .replace("127.0.0.1:3000", `127.0.0.1:${String(upstream)}`);
        writeFileSync(
          path.join(at, "nginx.conf"),
          `daemon off; master_process off; pid ${at}/pid; error_log ${at}/error.log;
          events {}
          http { access_log off; client_body_temp_path ${at}/body; ${lines} }`,
        );
      },
      answers: isListening,
    });
    const url = `http://127.0.0.1:${String(port)}/webhooks/gateway`;
    const bodies = [alarmBody(), alarmBody({ text: "x".repeat(1_500_000) })];
    for (const [at, body] of bodies.entries()) {
      const sent = await delivery({ id: `delivery-${String(at)}`, body });
      expect((await fetch(url, sent)).status).toBe(200);
    }
    expect(lengths).toEqual(bodies.map(({ length }) => length));
    expect((await fetch(`${url}/`, { redirect: "manual" })).status).toBe(404);
    await close();
    app.close();
  });
});
