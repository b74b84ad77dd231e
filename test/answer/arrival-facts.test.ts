import http from "node:http";
import { gzipSync } from "node:zlib";
import express from "express";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookRequest } from "../../src/index.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { serving } from "../support/serving.js";
import { spiedStore } from "../support/spied-store.js";

const CLEAN = "Not as in a clean delivery";

/** The log line of a delivery with a wrong signature. */
async function lineOf(change: (request: WebhookRequest) => Partial<WebhookRequest>) {
  const { receive, lines } = recordingReceiver();
  const request = await delivery({ secret: "another secret of 20" });
  expect(await receive({ ...request, ...change(request) })).toMatchObject({ status: 409 });
  expect(lines).toHaveLength(1);
  return lines[0]?.message ?? "";
}

const withHeaders = (more: Record<string, unknown>) => (request: WebhookRequest) => ({
  headers: { ...request.headers, ...more } as WebhookRequest["headers"],
});

test.each<[string, Record<string, unknown>, string]>([
  ["gzip", { "content-encoding": "gzip" }, "content-encoding gzip."],
  ["br in capitals", { "Content-Encoding": "BR" }, "content-encoding br."],
  ["deflate", { "content-encoding": ["deflate"] }, "content-encoding deflate."],
  ["another encoding", { "content-encoding": "jane@example.com" }, "content-encoding other."],
  [
    "a longer Content-Length",
    { "content-length": "99999" },
    "bytes read, but content-length 99999.",
  ],
  ["a proxy", { via: "1.1 jane.example.com" }, "via: yes."],
])("a signature mismatch names what differs from a clean delivery: %s", async (_, more, fact) => {
  const line = await lineOf(withHeaders(more));
  expect(line).toContain(CLEAN);
  expect(line).toContain(fact);
  expect(line).not.toContain("jane");
});

test("a signature mismatch names a body that begins as gzip", async () => {
  const line = await lineOf(() => ({ body: gzipSync("{}") }));
  expect(line).toContain(`${CLEAN}: the body begins as gzip.`);
});

test.each<[string, Record<string, unknown>]>([
  ["no such headers", {}],
  ["identity", { "content-encoding": "identity" }],
  ["a Content-Length that is no number", { "content-length": "jane" }],
])("a signature mismatch names nothing when nothing differs: %s", async (_, more) => {
  expect(await lineOf(withHeaders(more))).not.toContain(CLEAN);
});

test("headers that cannot be read a second time leave out the facts", async () => {
  const { receive, lines } = recordingReceiver();
  const request = await delivery({ secret: "another secret of 20" });
  const given = new Headers(request.headers);
  const headers = {
    get(name: string) {
      if (!name.startsWith("x-webhook-")) throw new Error("gone");
      return given.get(name);
    },
  };
  expect(await receive({ ...request, headers })).toMatchObject({ outcome: "signature_mismatch" });
  expect(lines).toHaveLength(1);
});

test("an authentic delivery that is not JSON names what differs, and one of another shape does not", async () => {
  const body = gzipSync('{"alarm":{}}');
  for (const [given, differs] of [
    [body, true],
    ["[]", false],
  ] as const) {
    const { receive, lines } = recordingReceiver();
    const request = await delivery({ body: given });
    const headers = { ...request.headers, "content-encoding": "gzip" };
    expect(await receive({ ...request, headers })).toMatchObject({ outcome: "unrecognized" });
    expect(lines[0]?.message.includes("content-encoding gzip; the body begins as gzip")).toBe(
      differs,
    );
  }
});

/** The log line of a forged delivery that comes over HTTP. */
async function lineOver(
  serverFor: (receiver: ReturnType<typeof recordingReceiver>["receiver"]) => http.Server,
  headers: Record<string, string> = {},
) {
  const { receiver, lines } = recordingReceiver();
  const url = await serving(serverFor(receiver));
  const forged = await delivery({ secret: "another secret of 20" });
  const response = await fetch(url, {
    method: "POST",
    body: forged.body as string,
    headers: { ...(forged.headers as Record<string, string>), ...headers },
  });
  expect(response.status).toBe(409);
  return lines[0]?.message ?? "";
}

test("bytes that a parser has kept in rawBody are named as such", async () => {
  const line = await lineOver((receiver) => {
    const app = express();
    const keep = (req: object, _res: unknown, bytes: Buffer): void => {
      Object.assign(req, { rawBody: bytes });
    };
    app.use(express.json({ verify: keep }));
    app.all("/", expressHandler(receiver));
    return http.createServer(app);
  });
  expect(line).toContain(`${CLEAN}: bytes from rawBody.`);
});

test("bytes that a parser has left as the body are named as such", async () => {
  const line = await lineOver((receiver) => {
    const app = express();
    app.use(express.raw({ type: () => true }));
    app.all("/", expressHandler(receiver));
    return http.createServer(app);
  });
  expect(line).toContain(`${CLEAN}: bytes from body.`);
});

test("bytes from the wire are named beside another difference only", async () => {
  const serverFor = (receiver: Parameters<typeof nodeHandler>[0]) =>
    http.createServer(nodeHandler(receiver));
  expect(await lineOver(serverFor, { via: "1.1 proxy" })).toContain(
    "via: yes; bytes from the wire",
  );
  expect(await lineOver(serverFor)).not.toContain(CLEAN);
});

test("bytes that a middleware of Hono has read are named as such", async () => {
  const { receiver, lines } = recordingReceiver();
  const app = new Hono();
  app.use(async (c, next) => {
    await c.req.text();
    await next();
  });
  app.all("/", honoHandler(receiver));
  const { headers, body } = await delivery({ secret: "another secret of 20" });
  const init = { method: "POST", headers: headers as Record<string, string>, body: body as string };
  expect((await app.request("/", init)).status).toBe(409);
  expect(lines[0]?.message).toContain("bytes from body");
});

test.each<[string, string]>([
  ["a number", '{"alarm":{"id":9007199254740993}}'],
  ["digits", '{"alarm":{"id":"90071992547409931"}}'],
])("an integer beyond 2^53 - 1 is named in the log without its value: %s", async (_, body) => {
  const { receive, lines } = recordingReceiver();
  expect(await receive(await delivery({ body }))).toMatchObject({ outcome: "unrecognized" });
  expect(lines[0]?.message).toContain("alarm.id: expected no integer beyond 2^53 - 1");
  expect(lines[0]?.message).not.toContain("90071992547409");
});

test.each<[string, object, string]>([
  ["a transaction that was aborted", { code: "transaction_aborted" }, "let the error pass"],
  [
    "a replica of Redis",
    { message: "READONLY You can't write against a read only replica." },
    "replica",
  ],
  [
    "a script on a replica of Redis",
    { message: "Command failed: READONLY You can't write" },
    "replica",
  ],
  ["a replica of PostgreSQL", { code: "25006" }, "connect to the primary"],
  ["a MySQL that is read-only", { code: "ER_OPTION_PREVENTS_STATEMENT" }, "connect to the primary"],
])("the log names the cause that a store's error has by its code: %s", async (_, given, cause) => {
  const error = Object.assign(new Error("failed"), given);
  const { store } = spiedStore({ claim: throwing(error) });
  const { receive, lines } = recordingReceiver({ store });
  expect(await receive(await delivery())).toMatchObject({ outcome: "store_unavailable" });
  expect(lines[0]?.message).toContain("Cause: ");
  expect(lines[0]?.message).toContain(cause);
  expect(lines[0]?.message).not.toContain("Usual causes");
});

test("the log names the usual causes of a store's error with a code that says nothing", async () => {
  const unreadable = new Proxy(new Error("x"), { get: throwing(new Error("no")) });
  for (const error of [new Error("x"), { code: "constructor" }, undefined, unreadable]) {
    const { store } = spiedStore({ claim: throwing(error) });
    const { receive, lines } = recordingReceiver({ store });
    expect(await receive(await delivery())).toMatchObject({ outcome: "store_unavailable" });
    expect(lines[0]?.message).toContain("Usual causes");
  }
});
