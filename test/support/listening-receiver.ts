import type { IncomingMessage } from "node:http";
import type { Server } from "node:net";
import { expect } from "vitest";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type WebhookReceiver,
} from "../../src/index.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import { http1Client } from "./adapters/http-clients.js";
import { createCollector } from "./collector.js";
import { NOW_MS, TEST_SECRET } from "./deliveries.js";
import { connectRaw } from "./raw-connection.js";
import { listen } from "./servers.js";
import type { CommonReceiverOptions } from "./receiver-options.js";

/** Options of the receiver and its adapter. */
export interface ListeningOptions extends Omit<Partial<CommonReceiverOptions>, "handlers"> {
  readonly bodyTimeoutMs?: number | undefined;
  readonly uploadTimeoutMs?: number | undefined;
  readonly handler?: ((context: DeliveryContext) => unknown) | undefined;
}

/** A receiver on a server, with records of what happened. */
export type ListeningReceiver = Awaited<ReturnType<typeof listenWith>>;

/** Makes a server with the receiver. */
export type CreateServer = (
  receiver: WebhookReceiver,
  options: { bodyTimeoutMs?: number | undefined; uploadTimeoutMs?: number | undefined },
) => Server | Promise<Server>;

/** Number of listeners on all objects where an adapter may leave one. */
export function listenersOf(req: IncomingMessage): object {
  const names = ["data", "end", "error", "close", "aborted", "readable"];
  const onRequest = names.map((name) => {
    // Node adds this one to a request that is answered before its end, and never removes it.
    const ours = req.listeners(name).filter((listener) => listener.name !== "clearIncoming");
    return [name, ours.length] as const;
  });
  return { ...Object.fromEntries(onRequest), endOfSocket: req.socket.listenerCount("end") };
}

/** Mounts a receiver of synthetic deliveries on a server on a free port of 127.0.0.1. */
export async function listenWith(
  createServer: CreateServer,
  { handler, bodyTimeoutMs, uploadTimeoutMs, ...options }: ListeningOptions = {},
) {
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
  const server = await createServer(receiver, { bodyTimeoutMs, uploadTimeoutMs });
  const requests: { req: IncomingMessage; before: object }[] = [];
  server.prependListener("request", (req: IncomingMessage) => {
    requests.push({ req, before: listenersOf(req) });
  });
  const { port, close } = await listen(server);
  return {
    ...collector,
    receiver,
    port,
    /** The calls of the handler. */
    runs,
    /** Every request that reached the server, with its number of listeners at that time (`before`). */
    requests,
    /** The bodies of the handler's calls, as texts. */
    bodies: () => runs.map(({ rawBody }) => new TextDecoder().decode(rawBody)),
    /** Sends a request over a connection of its own. */
    async send(request: WireRequest) {
      const client = http1Client(port);
      try {
        return await client.send(request);
      } finally {
        client.close();
      }
    },
    connect: () => connectRaw(port),
    /** Resolves when no connection is left. Either side may close it. */
    allGone: () => eventually(() => connectionCount(server)).toBe(0),
    /** Resolves when no connection is left. Closes only idle connections. */
    close,
  };
}

/** Asserts a condition that becomes true soon, or later on a busy machine. */
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
