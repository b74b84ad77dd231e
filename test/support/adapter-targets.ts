import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import type { Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import { Hono } from "hono";
import { expressHandler } from "../../adapters/express.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookReceiver } from "../../src/index.js";
import type { AdapterRequest, AdapterTarget } from "./adapter-exchange.js";
import { http1Client, http2Client, recordOf, type HttpClient } from "./http-clients.js";
import { listen, testCertificate } from "./servers.js";

/** A server, and a client to it over real HTTP. */
function overHttp(
  name: string,
  createServer: (receiver: WebhookReceiver) => Server,
  connect: (port: number) => HttpClient = http1Client,
): AdapterTarget {
  return {
    name,
    async open(receiver) {
      const server = await listen(createServer(receiver));
      const client = connect(server.port);
      return {
        send: client.send,
        connections: client.connections,
        close() {
          client.close();
          return server.close();
        },
      };
    },
  };
}

const trusting = (connect: typeof http1Client) => (port: number) =>
  connect(port, testCertificate().cert);

/** A function from `Request` to `Response`, called without a server. */
function inProcess(
  name: string,
  mount: (receiver: WebhookReceiver) => (request: Request) => Response | Promise<Response>,
): AdapterTarget {
  return {
    name,
    open(receiver) {
      const handle = mount(receiver);
      return Promise.resolve({
        async send(request) {
          const response = await handle(requestOf(request));
          const headers = Object.fromEntries(response.headers);
          return { status: response.status, headers, body: await response.text() };
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

/** A request as the Fetch API has it. */
export function requestOf({ method, headers, body, chunked = false }: AdapterRequest): Request {
  const lines = headers.map(([name, value]): [string, string] => [name, value]);
  const isDeclared = body !== undefined && !chunked;
  const length: [string, string][] = isDeclared ? [["content-length", String(body.length)]] : [];
  return new Request("http://gateway.example/", {
    method,
    headers: [...lines, ...length],
    ...(body === undefined ? {} : { body }),
  });
}

const honoApp = (receiver: WebhookReceiver) => new Hono().all("/", honoHandler(receiver));

/** `receive` itself: what all adapters have to agree with. */
export const directTarget: AdapterTarget = {
  name: "receive",
  open: (receiver) =>
    Promise.resolve({
      send: ({ method, headers, body = new Uint8Array(0) }) =>
        receiver.receive({ method, headers: recordOf(headers), body }),
      close: () => Promise.resolve(),
    }),
};

/** Every adapter, on every kind of server that it is for. */
export const adapterTargets: readonly AdapterTarget[] = [
  overHttp("express 5", (receiver) =>
    http.createServer(express().all("/", expressHandler(receiver))),
  ),
  overHttp("express 4", (receiver) =>
    http.createServer(express4().all("/", expressHandler(receiver))),
  ),
  overHttp("node on http", (receiver) => http.createServer(nodeHandler(receiver))),
  overHttp(
    "node on https",
    (receiver) => https.createServer(testCertificate(), nodeHandler(receiver)),
    trusting(http1Client),
  ),
  overHttp(
    "node on HTTP/2",
    (receiver) => http2.createSecureServer(testCertificate(), nodeHandler(receiver)),
    trusting(http2Client),
  ),
  overHttp(
    "node on cleartext HTTP/2",
    (receiver) => http2.createServer(nodeHandler(receiver)),
    http2Client,
  ),
  inProcess("hono in process", (receiver) => (request) => honoApp(receiver).request(request)),
  overHttp("hono on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: honoApp(receiver).fetch }),
  ),
  inProcess("fetch in process", (receiver) => fetchHandler(receiver)),
  overHttp("fetch on @hono/node-server", (receiver) =>
    createAdaptorServer({ fetch: fetchHandler(receiver) }),
  ),
  overHttp(
    "fetch on @hono/node-server with HTTP/2",
    (receiver) =>
      createAdaptorServer({ fetch: fetchHandler(receiver), createServer: http2.createServer }),
    http2Client,
  ),
];
