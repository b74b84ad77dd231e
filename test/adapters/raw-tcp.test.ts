import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { bytesOf, signed } from "../support/adapters/adapter-exchange.js";
import { httpServers } from "../support/adapters/http-servers.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { chunkOf, headOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";

const BODY_TIMEOUT_MS = 60;
/** How long the rest of a refused upload is read. An answer that waits for nothing takes less. */
const LINGER_MS = 2_000;
const CHUNKED = "Transfer-Encoding: chunked";
const HANDLED = { status: 200, body: '{"outcome":"handled"}' };

const open = watchedReceivers();

/** A connection in the middle of an upload that has reached the server. */
async function uploading(create: CreateServer, framing: string, start: string | Uint8Array) {
  const { server, connection } = await open.connected(create);
  await connection.write(headOf(await signed(), framing));
  await connection.write(start);
  await eventually(() => server.requests.length).toBe(1);
  return { server, connection };
}

describe.each(httpServers)("%s", (name, create) => {
  it("a body in small pieces is not a stalled upload, however long it takes in all", async () => {
    const bodyTimeoutMs = 3_000;
    const { connection } = await open.connected(create, { bodyTimeoutMs });
    const request = await signed();
    const { body = new Uint8Array(0) } = request;
    const startedAt = performance.now();
    await connection.write(headOf(request, `Content-Length: ${body.length}`));
    const step = Math.ceil(body.length / 12);
    for (let at = 0; at < body.length; at += step) {
      await sleep(260);
      await connection.write(body.subarray(at, at + step));
    }
    expect((await connection.answers(1))[0]).toMatchObject(HANDLED);
    expect(performance.now() - startedAt).toBeGreaterThan(bodyTimeoutMs);
  });

  describe("an upload that stalls", () => {
    it.each([
      ["before its first byte", "Content-Length: 1000", ""],
      ["short of the Content-Length", "Content-Length: 1000", '{"alarm":'],
      ["between two chunks", CHUNKED, chunkOf(bytesOf('{"alarm":'))],
      ["within a chunk", CHUNKED, "3e8\r\nabc"],
    ])("%s is answered 408 and the connection closed", async (_where, framing, start) => {
      const bodyTimeoutMs = BODY_TIMEOUT_MS;
      const { server, connection } = await open.connected(create, { bodyTimeoutMs });
      const lingers = watchTimers(LINGER_MS);
      const startedAt = performance.now();
      await connection.write(headOf(await signed(), framing));
      await connection.write(start);
      const [answer] = await connection.answers(1);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(BODY_TIMEOUT_MS - 1);
      expect(answer).toMatchObject({ status: 408, headers: { connection: "close" } });
      expect(answer?.body).toContain("BODY_TIMEOUT");
      expect(await connection.closed).toEqual({ error: undefined });
      expect(lingers.fired()).toBe(0);
      expect(server.runs).toEqual([]);
      await server.allGone();
    });
  });

  describe("an upload that breaks off midway", () => {
    it.each([
      ["Content-Length", "Content-Length: 1000", '{"alarm":'],
      ["chunks", CHUNKED, chunkOf(bytesOf('{"alarm":'))],
    ])("by a reset leaves nothing behind (%s)", async (_kind, framing, start) => {
      const { server, connection } = await uploading(create, framing, start);
      connection.socket.resetAndDestroy();
      await server.allGone();
      expect(connection.received()).toBe("");
      expect(server.runs).toEqual([]);
      expect(outcomesOf(server)).toEqual([]);
    });

    it.each([
      ["Content-Length", "Content-Length: 1000", '{"alarm":'],
      ["chunks", CHUNKED, "3e8\r\nabc"],
    ])(
      "by an early end runs no handler and makes no report (%s)",
      async (_kind, framing, start) => {
        const { server, connection } = await uploading(create, framing, start);
        connection.socket.end();
        await connection.closed;
        await server.allGone();
        // Node's own answer would be final. A fetch handler gets what its server reads.
        if (!name.startsWith("fetch")) expect(connection.received()).toBe("");
        expect(server.runs).toEqual([]);
        expect(outcomesOf(server)).toEqual([]);
      },
    );
  });

  it("runs no handler for a body that its Content-Length has cut", async () => {
    const { server, connection } = await open.connected(create);
    const request = await signed();
    await connection.write(headOf(request, "Content-Length: 10"));
    await connection.write(request.body ?? "");
    await connection.closed;
    expect(server.runs).toEqual([]);
    await server.allGone();
  });
});
