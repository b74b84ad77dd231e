import { describe, expect, it } from "vitest";
import { signed } from "../support/adapters/adapter-exchange.js";
import { httpServers } from "../support/adapters/http-servers.js";
import { chunkOf, headOf, type RawConnection } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers, watchTimers } from "../support/adapters/watched-receiver.js";

/** How long the rest of a refused upload is read. An answer that waits for nothing takes less. */
const LINGER_MS = 2_000;
const CHUNKED = "Transfer-Encoding: chunked";
const ENDLESS = "Content-Length: 1000000000000";
const LAST_CHUNK = chunkOf(new Uint8Array(0));
const MEGABYTES = new Uint8Array(5_000_000);

const open = watchedReceivers();

describe.each(httpServers)("%s", (_name, create) => {
  describe("a body over maxBodyBytes", () => {
    const expectRefused = async (connection: RawConnection): Promise<void> => {
      const [answer] = await connection.answers(1);
      expect(answer).toMatchObject({ status: 409, headers: { connection: "close" } });
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({ error: { code: "BODY_TOO_LARGE" } });
      expect(await connection.closed).toEqual({ error: undefined });
    };

    it("is answered in full and not reset, twenty times out of twenty", async () => {
      const server = await open(create);
      const request = await signed();
      const uploads = [
        [headOf(request, `Content-Length: ${MEGABYTES.length}`), MEGABYTES],
        [headOf(request, CHUNKED), chunkOf(MEGABYTES), LAST_CHUNK],
      ];
      for (let round = 0; round < 10; round += 1) {
        for (const pieces of uploads) {
          const connection = await server.connect();
          for (const piece of pieces) void connection.write(piece);
          await expectRefused(connection);
        }
      }
      expect(server.runs).toEqual([]);
      expect(new Set(outcomesOf(server))).toEqual(new Set(["body_too_large"]));
    });

    it.each([
      ["Content-Length: 2000", [new Uint8Array(2_000)]],
      [CHUNKED, [chunkOf(new Uint8Array(2_000)), LAST_CHUNK]],
    ])("closes the connection as soon as it has arrived (%s)", async (framing, pieces) => {
      const { connection } = await open.connected(create, { maxBodyBytes: 1_000 });
      const lingers = watchTimers(LINGER_MS);
      await connection.write(headOf(await signed(), framing));
      await connection.write(Buffer.concat(pieces));
      await expectRefused(connection);
      expect(lingers.fired()).toBe(0);
    });

    it("is answered at once and closed in the end, when the sender goes on or stops", async () => {
      const server = await open(create, { maxBodyBytes: 1_000 });
      const head = headOf(await signed(), ENDLESS);
      const lingers = watchTimers(LINGER_MS);
      const stopping = await server.connect();
      const going = await server.connect();
      await Promise.all([stopping.write(head), going.write(head)]);
      await Promise.all([stopping.answers(1), going.answers(1)]);
      expect(lingers.fired()).toBe(0);
      const flood = setInterval(() => void going.write(new Uint8Array(100_000)), 5);
      await Promise.all([stopping.closed, going.closed]);
      clearInterval(flood);
      expect(going.received()).toContain("BODY_TOO_LARGE");
      await server.allGone();
    });

    it("closes its connection although a draining receiver gives another answer", async () => {
      const { server, connection } = await open.connected(create, { maxBodyBytes: 1_000 });
      await server.receiver.drain();
      await connection.write(headOf(await signed(), "Content-Length: 2000"));
      const [answer] = await connection.answers(1);
      expect(answer).toMatchObject({ status: 503, headers: { connection: "close" } });
      await connection.write(new Uint8Array(2_000));
      expect(await connection.closed).toEqual({ error: undefined });
      expect(outcomesOf(server)).toEqual(["draining"]);
    });

    it("leaves nothing behind when the sender goes away after the answer", async () => {
      const { server, connection } = await open.connected(create, { maxBodyBytes: 1_000 });
      await connection.write(headOf(await signed(), ENDLESS));
      await connection.answers(1);
      const lingers = watchTimers(LINGER_MS);
      connection.socket.resetAndDestroy();
      await server.allGone();
      expect(lingers.fired()).toBe(0);
    });
  });

  it("answers a POST that says nothing of a body at once", async () => {
    const { server, connection } = await open.connected(create);
    await connection.write(headOf(await signed()));
    expect((await connection.answers(1))[0]?.status).toBe(409);
    expect(outcomesOf(server)).toEqual(["signature_mismatch"]);
  });
});
