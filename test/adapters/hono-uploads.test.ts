import http2 from "node:http2";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import { bytesOf, signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { arrivals } from "../support/arrivals.js";
import { http2Client } from "../support/adapters/http-clients.js";
import { eventually, listenersOf, type CreateServer } from "../support/listening-receiver.js";
import { oddDelivery } from "../support/fuzz/odd-delivery.js";
import { headOf, wireOf } from "../support/raw-connection.js";
import { startRawHttp2 } from "../support/adapters/raw-http2.js";
import { watchTimers } from "../support/adapters/upload-timers.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

/** A length that no other timer has. */
const BODY_TIMEOUT_MS = 54_321;

const hono: CreateServer = (receiver, options) =>
  createAdaptorServer({ fetch: new Hono().all("/", honoHandler(receiver, options)).fetch });

const honoOnHttp2: CreateServer = (receiver, options) =>
  createAdaptorServer({
    fetch: new Hono().all("/", honoHandler(receiver, options)).fetch,
    createServer: http2.createServer,
  });

describe.each(arrivals)("Hono on @hono/node-server, a body %s", (_how, send) => {
  it("may take maxBodyBytes and not one byte more", async () => {
    const request = await oddDelivery();
    const { length = 0 } = request.body ?? {};
    for (const [maxBodyBytes, status, outcome] of [
      [length, 200, "handled"],
      [length - 1, 409, "body_too_large"],
    ] as const) {
      const { server, connection } = await open.connected(hono, { maxBodyBytes });
      await send(server, connection, request);
      expect((await connection.answers(1))[0]).toMatchObject({ status });
      expect(outcomesOf(server)).toEqual([outcome]);
      connection.socket.end();
      await connection.closed;
    }
  });

  it("leaves neither listeners nor timers on a connection of twenty requests", async () => {
    const { server, connection } = await open.connected(hono, { bodyTimeoutMs: BODY_TIMEOUT_MS });
    const timers = watchTimers(BODY_TIMEOUT_MS);
    for (let count = 1; count <= 20; count += 1) {
      await send(server, connection, await signed({ id: `delivery-${String(count)}` }));
      await connection.answers(count);
    }
    expect(timers.running()).toBe(0);
    expect(outcomesOf(server)).toEqual(Array(20).fill("handled"));
    // Node adds a listener of its own for the end of a request that was answered before it.
    const left = server.requests.map(({ req }) => ({ ...listenersOf(req), end: 0 }));
    expect(left).toEqual(Array(20).fill(server.requests[0]?.before));
  });
});

describe("Hono on @hono/node-server", () => {
  it("keeps the connection after each refusal of a whole request", async () => {
    const server = await open(hono, {
      handler: ({ id }) => {
        if (id === "failing") throw new Error("no");
      },
    });
    const good = await signed({ id: "good" });
    const refused = [
      [{ ...good, body: bytesOf("tampered") }, 409],
      [withHeader(good, "x-webhook-signature"), 409],
      [withHeader(good, "x-webhook-timestamp", "yesterday"), 409],
      [{ ...good, method: "PUT" }, 405],
      [{ ...good, method: "GET", body: new Uint8Array(0) }, 409],
      [{ ...good, body: new Uint8Array(0) }, 409],
      [await signed({ id: "failing" }), 500],
    ] as const;
    const connection = await server.connect();
    for (const [index, [request, status]] of refused.entries()) {
      await connection.write(wireOf(request));
      expect((await connection.answers(index + 1))[index]?.status).toBe(status);
    }
    await connection.write(wireOf(good));
    const answers = await connection.answers(refused.length + 1);
    expect(answers.at(-1)).toMatchObject({ status: 200, body: '{"outcome":"handled"}' });
    connection.socket.end();
  });

  it.each([
    ["nothing said of it", []],
    ["a Content-Length of 0", ["Content-Length: 0"]],
  ])("answers a POST without a body at once, with %s", async (_how, framing) => {
    const { server, connection } = await open.connected(hono);
    await connection.write(headOf(await signed(), ...framing));
    expect((await connection.answers(1))[0]).toMatchObject({ status: 409 });
    expect(outcomesOf(server)).toEqual(["signature_mismatch"]);
  });

  it("treats a delivery signed over an empty body like any other", async () => {
    const { server, connection } = await open.connected(hono);
    await connection.write(wireOf(await signed({ body: "" })));
    expect((await connection.answers(1))[0]).toMatchObject({ status: 503 });
    expect(outcomesOf(server)).toEqual(["unrecognized"]);
  });
});

describe("Hono on @hono/node-server with HTTP/2", () => {
  it("handles a complete body and refuses one that is too large", async () => {
    const server = await open(honoOnHttp2, { maxBodyBytes: 10_000 });
    const client = open.closing(http2Client(server.port));
    for (const chunked of [false, true]) {
      const request = { ...(await signed({ id: `chunked-${String(chunked)}` })), chunked };
      expect(await client.send(request)).toMatchObject({ status: 200 });
      const large = await client.send({ ...request, body: new Uint8Array(20_000) });
      expect(large).toMatchObject({ status: 409 });
    }
    expect(outcomesOf(server)).toEqual(["handled", "body_too_large", "handled", "body_too_large"]);
  });

  it("reports nothing of a stream that was reset midway", async () => {
    const server = await open(honoOnHttp2);
    const { headers } = await signed();
    const stream = startRawHttp2(server.port, headers);
    stream.data('{"alarm":');
    await eventually(() => server.requests.length).toBe(1);
    const closed = new Promise((resolve) => server.requests[0]?.req.on("close", resolve));
    stream.reset(http2.constants.NGHTTP2_CANCEL);
    await closed;
    stream.close();
    await server.allGone();
    expect(outcomesOf(server)).toEqual([]);
  });
});
