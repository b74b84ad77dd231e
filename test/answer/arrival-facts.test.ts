import http from "node:http";
import { gzipSync } from "node:zlib";
import express from "express";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookReceiver, WebhookRequest } from "../../src/index.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { serving } from "../support/serving.js";
import { spiedStore } from "../support/spied-store.js";

const CLEAN = "Not as in a clean delivery";

const forged = () => delivery({ secret: "another secret of 20" });

/** The log line of a delivery with a wrong signature. */
async function lineOf(more: Record<string, unknown>, change: Partial<WebhookRequest> = {}) {
  const { receive, lines } = recordingReceiver();
  const request = await forged();
  const headers = { ...request.headers, ...more } as WebhookRequest["headers"];
  expect(await receive({ ...request, headers, ...change })).toMatchObject({ status: 409 });
  expect(lines).toHaveLength(1);
  return lines[0]?.message ?? "";
}

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
  const line = await lineOf(more);
  expect(line).toContain(CLEAN);
  expect(line).toContain(fact);
  expect(line).not.toContain("jane");
});

test("a signature mismatch names a body that begins as gzip", async () => {
  const line = await lineOf({}, { body: gzipSync("{}") });
  expect(line).toContain(`${CLEAN}: the body begins as gzip.`);
});

test.each<[string, Record<string, unknown>, body?: Uint8Array]>([
  ["no such headers", {}],
  ["identity", { "content-encoding": "identity" }],
  ["a Content-Length that is no number", { "content-length": "jane" }],
  ["a Content-Length with a text behind it", { "content-length": "9 jane" }],
  ["a Content-Length with a text in front of it", { "content-length": "jane 9" }],
  ["a body with the first byte of gzip alone", {}, Uint8Array.of(0x1f, 0)],
  ["a body with the second byte of gzip alone", {}, Uint8Array.of(0, 0x8b)],
])("a signature mismatch names nothing when nothing differs: %s", async (_, more, body) => {
  expect(await lineOf(more, body && { body })).not.toContain(CLEAN);
});

test("headers that cannot be read a second time leave out the facts", async () => {
  const given = new Headers((await forged()).headers);
  const headers = {
    get(name: string) {
      if (!name.startsWith("x-webhook-")) throw new Error("gone");
      return given.get(name);
    },
  };
  expect(await lineOf({}, { headers })).not.toContain(CLEAN);
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

type Mount = (receiver: WebhookReceiver) => http.RequestListener;

const behindExpress =
  (parser: express.Handler): Mount =>
  (receiver) =>
    express().use(parser).all("/", expressHandler(receiver));

test.each<[string, string, Mount, Record<string, string>]>([
  [
    "bytes that a parser has kept in rawBody",
    `${CLEAN}: bytes from rawBody.`,
    behindExpress(
      express.json({
        verify: (req, _res, bytes) => {
          Object.assign(req, { rawBody: bytes });
        },
      }),
    ),
    {},
  ],
  [
    "bytes that a parser has left as the body",
    `${CLEAN}: bytes from body.`,
    behindExpress(express.raw({ type: () => true })),
    {},
  ],
  [
    "bytes from the wire beside another difference",
    "via: yes; bytes from the wire",
    nodeHandler,
    { via: "1.1 proxy" },
  ],
])("the log line of a forged delivery over HTTP names %s", async (_, fact, mount, more) => {
  const { receiver, lines } = recordingReceiver();
  const { headers, ...request } = await forged();
  const url = await serving(http.createServer(mount(receiver)));
  const response = await fetch(url, { ...request, headers: { ...headers, ...more } });
  expect(response.status).toBe(409);
  expect(lines[0]?.message).toContain(fact);
});

test("bytes from the wire alone are not named", async () => {
  const { receiver, lines } = recordingReceiver();
  await fetch(await serving(http.createServer(nodeHandler(receiver))), await forged());
  expect(lines[0]?.message).toContain("signature_mismatch");
  expect(lines[0]?.message).not.toContain(CLEAN);
});

test("bytes that a middleware of Hono has read are named as such", async () => {
  const { receiver, lines } = recordingReceiver();
  const app = new Hono();
  app.use(async (c, next) => {
    await c.req.text();
    await next();
  });
  app.all("/", honoHandler(receiver));
  expect((await app.request("/", await forged())).status).toBe(409);
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
  ["a replica of Redis", { message: "READONLY You can't write against a replica." }, "replica"],
  ["a script on a replica of Redis", { message: "Command failed: READONLY You" }, "replica"],
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
