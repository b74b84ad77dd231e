import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import http from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../support/servers.js";
import { readMarkdown } from "../support/package/markdown.js";
import { temporaryFolder } from "../support/temporary-folder.js";

interface ApiRequest {
  readonly line: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

const PAGE = readMarkdown("docs/going-live.md");
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
