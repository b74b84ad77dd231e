import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { signed } from "../support/adapters/adapter-exchange.js";
import { streamServers } from "../support/adapters/http-servers.js";
import { outcomesOf, watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";
import { arrivals } from "../support/arrivals.js";
import { alarmBody } from "../support/deliveries.js";
import { ODD_BODY, oddDelivery } from "../support/odd-delivery.js";
import { type CreateServer, listenersOf } from "../support/listening-receiver.js";
import { wireOf } from "../support/raw-connection.js";

/** Code around a server, which calls it by `next`. */
type Around = (next: () => void, req: IncomingMessage, res: ServerResponse) => unknown;

const surrounded =
  (create: CreateServer, around: Around): CreateServer =>
  async (receiver, options) => {
    const server = await create(receiver, options);
    const [serve] = server.listeners("request") as RequestListener[];
    server.removeAllListeners("request");
    return server.on("request", (req: IncomingMessage, res: ServerResponse) => {
      around(() => serve?.(req, res), req, res);
    });
  };

const open = watchedReceivers();

/** A length that no other timer has. */
const BODY_TIMEOUT_MS = 54_321;

const harmless: readonly (readonly [string, Around])[] = [
  ["in a microtask", (next) => Promise.resolve().then(next)],
  ["after a timer", (next) => setTimeout(next, 5)],
  [
    "when the stream is paused",
    (next, req) => {
      req.pause();
      next();
    },
  ],
  [
    "and the stream is paused and goes on",
    (next, req) => {
      next();
      req.pause().resume();
    },
  ],
  [
    "when the stream is set to base64",
    (next, req) => {
      req.setEncoding("base64");
      next();
    },
  ],
  [
    "and the stream is set to hex",
    (next, req) => {
      next();
      req.setEncoding("hex");
    },
  ],
];

const others: readonly (readonly [string, (read: (chunk: Buffer) => void) => Around])[] = [
  [
    "before",
    (read) => (next, req) => {
      req.on("data", read);
      next();
    },
  ],
  [
    "after",
    (read) => (next, req) => {
      next();
      req.on("data", read);
    },
  ],
];

describe.each(streamServers)("%s", (_name, create) => {
  const around = (code: Around): CreateServer => surrounded(create, code);

  describe.each(arrivals)("a body %s", (how, send) => {
    it.each(harmless)("is whole when it is asked for %s", async (_when, ask) => {
      const { server, connection } = await open.connected(around(ask));
      const body = alarmBody({ text: "Ålarm €" });
      await send(server, connection, await signed({ body }));
      expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
      expect(server.bodies()).toEqual([body]);
    });

    it.each(others)("is whole for another reader too, that came %s", async (_when, reader) => {
      const seen: Buffer[] = [];
      const { server, connection } = await open.connected(
        around(reader((chunk) => void seen.push(chunk))),
      );
      await send(server, connection, await oddDelivery());
      expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
      expect(Buffer.concat(seen).toString()).toBe(ODD_BODY);
      expect(server.bodies()).toEqual([ODD_BODY]);
    });

    it("may take maxBodyBytes and not one byte more", async () => {
      const request = await oddDelivery();
      const { length = 0 } = request.body ?? {};
      for (const [maxBodyBytes, status] of [
        [length, 200],
        [length - 1, 409],
      ] as const) {
        const plain = around((next) => next());
        const { server, connection } = await open.connected(plain, { maxBodyBytes });
        await send(server, connection, request);
        expect((await connection.answers(1))[0]).toMatchObject({ status });
        expect(server.bodies()).toEqual(status === 200 ? [ODD_BODY] : []);
      }
    });

    it("is never taken in part when other code keeps the stream paused", async () => {
      const { server, connection } = await open.connected(
        around((next, req) => {
          next();
          req.pause();
        }),
        { bodyTimeoutMs: 40 },
      );
      await send(server, connection, await oddDelivery());
      expect((await connection.answers(1))[0]).toMatchObject({ status: 408 });
      await connection.closed;
      expect(outcomesOf(server)).toEqual(["body_timeout"]);
    });

    it("is never taken in part when other code destroys the request", async () => {
      const { server, connection } = await open.connected(
        around((next, req) => {
          if (how.includes("with its headers")) next();
          req.on("data", () => req.destroy());
          if (!how.includes("with its headers")) next();
        }),
      );
      await send(server, connection, await oddDelivery());
      await connection.closed;
      await server.allGone();
      expect(connection.received()).toBe("");
      expect(outcomesOf(server).filter((outcome) => outcome !== "handled")).toEqual([]);
    });
  });

  it("reads a body that is larger than a stream holds at once", async () => {
    const { server, connection } = await open.connected(around((next) => setTimeout(next, 5)));
    const body = alarmBody({ text: "x".repeat(400_000) });
    for (const id of ["first", "second"]) {
      await connection.write(wireOf(await signed({ id, body })));
    }
    const answers = await connection.answers(2);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(server.runs.map(({ rawBody }) => rawBody.length)).toEqual([body.length, body.length]);
  });

  it("starts no timer when it arrives with its headers", async () => {
    const { connection } = await open.connected(
      around((next) => next()),
      { bodyTimeoutMs: BODY_TIMEOUT_MS },
    );
    const timers = watchTimers(BODY_TIMEOUT_MS);
    await connection.write(wireOf(await signed()));
    expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
    expect(timers.started()).toBe(0);
  });

  it("leaves nothing behind on a connection with ten pipelined requests, and ten more", async () => {
    const listeners: number[] = [];
    const { server, connection } = await open.connected(
      around((next, { socket }) => {
        listeners.push(socket.listenerCount("end") + socket.listenerCount("error"));
        next();
      }),
      { bodyTimeoutMs: BODY_TIMEOUT_MS },
    );
    const timers = watchTimers(BODY_TIMEOUT_MS);
    const ids = Array.from({ length: 20 }, (_, index) => `delivery-${String(index)}`);
    const wires = await Promise.all(ids.map(async (id) => wireOf(await signed({ id }))));
    await connection.write(Buffer.concat(wires.slice(0, 10)));
    await connection.answers(10);
    for (const [index, wire] of wires.slice(10).entries()) {
      await connection.write(wire);
      await connection.answers(11 + index);
    }
    expect(timers.running()).toBe(0);
    expect(outcomesOf(server)).toEqual(Array(20).fill("handled"));
    expect(server.runs.map(({ id }) => id)).toEqual(ids);
    expect(new Set(listeners.slice(10)).size).toBe(1);
    // Node adds a listener of its own for the end of a request that was answered before it.
    const left = server.requests.map(({ req }) => ({ ...listenersOf(req), end: 0 }));
    expect(left).toEqual(Array(20).fill(server.requests[0]?.before));
  });
});
