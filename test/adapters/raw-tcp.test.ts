import { describe, expect, it } from "vitest";
import { bytesOf, signed } from "../support/adapters/adapter-exchange.js";
import { httpServers } from "../support/adapters/http-servers.js";
import { chunkOf, headOf } from "../support/raw-connection.js";
import { watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";

const BODY_TIMEOUT_MS = 60;
/** How long the rest of a refused upload is read. An answer that waits for nothing takes less. */
const LINGER_MS = 2_000;
const CHUNKED = "Transfer-Encoding: chunked";

const open = watchedReceivers();

describe.each(httpServers)("%s", (_name, create) => {
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
