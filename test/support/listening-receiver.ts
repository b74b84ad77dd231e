import http, { type IncomingMessage } from "node:http";
import type { Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { expect } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type WebhookReceiver,
} from "../../src/index.js";
import { createCollector, type Collector } from "./collector.js";
import { NOW_MS, TEST_SECRET } from "./deliveries.js";
import { connectRaw, type RawConnection } from "./raw-connection.js";
import { listen } from "./servers.js";
import type { CommonReceiverOptions } from "./receiver-options.js";

/** What a test wants of the receiver and its adapter. */
export interface ListeningOptions extends Omit<Partial<CommonReceiverOptions>, "handlers"> {
  readonly bodyTimeoutMs?: number | undefined;
  readonly uploadTimeoutMs?: number | undefined;
  readonly handler?: ((context: DeliveryContext) => unknown) | undefined;
}

/** A receiver on a server, and everything that became of it. */
export interface ListeningReceiver extends Collector {
  readonly receiver: WebhookReceiver;
  readonly port: number;
  /** A call of the handler each. */
  readonly runs: readonly DeliveryContext[];
  /** Every request that reached the server, with the listeners that it had `before`. */
  readonly requests: readonly { readonly req: IncomingMessage; readonly before: object }[];
  connect(): Promise<RawConnection>;
  /** Resolves when no connection is left, whoever ends it. */
  allGone(): Promise<void>;
  /** Resolves when no connection is left. Ends none but idle ones. */
  close(): Promise<void>;
}

/** Makes a server of a receiver. */
export type CreateServer = (
  receiver: WebhookReceiver,
  options: { bodyTimeoutMs?: number | undefined; uploadTimeoutMs?: number | undefined },
) => Server;

/** How many listeners there are where an adapter may have left one. */
export function listenersOf(req: IncomingMessage): object {
  const names = ["data", "end", "error", "close", "aborted", "readable"];
  const onRequest = names.map((name) => {
    // Node's own, on a request that is answered before its end is told; it is never taken off.
    const ours = req.listeners(name).filter((listener) => listener.name !== "clearIncoming");
    return [name, ours.length] as const;
  });
  return { ...Object.fromEntries(onRequest), endOfSocket: req.socket.listenerCount("end") };
}

/** Mounts a receiver of synthetic deliveries on a server on a free port of 127.0.0.1. */
export async function listenWith(
  createServer: CreateServer,
  { handler, bodyTimeoutMs, uploadTimeoutMs, ...options }: ListeningOptions = {},
): Promise<ListeningReceiver> {
  const collector = createCollector();
  const runs: DeliveryContext[] = [];
  const handle = (_record: unknown, context: DeliveryContext): unknown => {
    runs.push(context);
    return handler?.(context);
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    now: () => NOW_MS,
    ...collector.options,
    ...options,
  });
  const server = createServer(receiver, { bodyTimeoutMs, uploadTimeoutMs });
  const requests: { req: IncomingMessage; before: object }[] = [];
  server.prependListener("request", (req: IncomingMessage) => {
    requests.push({ req, before: listenersOf(req) });
  });
  const { port, close } = await listen(server);
  return {
    ...collector,
    receiver,
    port,
    runs,
    requests,
    connect: () => connectRaw(port),
    allGone: () => eventually(() => connectionCount(server)).toBe(0),
    close,
  };
}

/** Asserts what becomes true sooner or later, and soon unless the machine is busy. */
export function eventually<T>(read: () => T | Promise<T>) {
  return expect.poll(read, { interval: 5 });
}

function connectionCount(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

/** The adapters that read a stream of Node's themselves. */
export const nodeServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  ["node", (receiver, options) => http.createServer(nodeHandler(receiver, options))],
  [
    "express 5",
    (receiver, options) => http.createServer(express().all("/", expressHandler(receiver, options))),
  ],
];

/** The adapters that read a `Request`, on Node. */
const fetchServers: readonly (readonly [name: string, createServer: CreateServer])[] = [
  [
    "hono on @hono/node-server",
    (receiver, options) =>
      createAdaptorServer({ fetch: new Hono().all("/", honoHandler(receiver, options)).fetch }),
  ],
  [
    "fetch on @hono/node-server",
    (receiver, options) => createAdaptorServer({ fetch: fetchHandler(receiver, options) }),
  ],
];

/** All of them. */
export const httpServers = [...nodeServers, ...fetchServers];
