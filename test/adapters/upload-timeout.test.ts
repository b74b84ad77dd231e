import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signed } from "../support/adapters/adapter-exchange.js";
import { httpServers } from "../support/adapters/http-servers.js";
import { headOf, wireOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

const GAP_MS = 20;
const STILL_MS = 200;

describe("an upload whose rest arrives while the process stands still", () => {
  it.each(httpServers)("is acknowledged: %s", async (_name, create) => {
    const { server, connection } = await open.connected(create, { bodyTimeoutMs: STILL_MS });
    const wire = wireOf(await signed());
    await connection.write(wire.subarray(0, -1));
    await sleep(GAP_MS);
    // After it Node runs its timers, and only then reads from its sockets.
    await setImmediate();
    const rest = connection.write(wire.subarray(-1));
    const stillUntil = performance.now() + 2 * STILL_MS;
    while (performance.now() < stillUntil);
    await rest;
    expect((await connection.answers(1))[0]?.status).toBe(200);
    expect(outcomesOf(server)).toEqual(["handled"]);
  });
});

describe("an upload that comes byte by byte, and never ends", () => {
  it.each(httpServers)("is answered 408 and closed over HTTP/1: %s", async (_name, create) => {
    const { server, connection } = await open.connected(create, {
      bodyTimeoutMs: 30_000,
      uploadTimeoutMs: 300,
    });
    await connection.write(headOf(await signed(), "Content-Length: 100000"));
    while (!connection.socket.closed) {
      await connection.write("x");
      await sleep(GAP_MS);
    }
    expect((await connection.answers(1))[0]).toMatchObject({
      status: 408,
      headers: { connection: "close" },
    });
    expect(outcomesOf(server)).toEqual(["body_timeout"]);
  });
});
