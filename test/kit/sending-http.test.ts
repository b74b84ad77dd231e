import http from "node:http";
import net from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSender } from "../../kit/sending/sender.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import { serving } from "../support/serving.js";

function senderTo(url: string, options = {}) {
  const sender = createSender(url, options);
  onTestFinished(() => {
    sender.close();
  });
  return sender;
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const request = { method: "POST", headers: [], body: Buffer.from("body") };

/** A server that calls `answer` with the number of the request and of its connection, both from 1. */
async function countingServer(
  answer: (socket: net.Socket, nth: number, connection: number) => void,
): Promise<{ url: string; requests: () => number }> {
  let [connections, requests] = [0, 0];
  const server = net.createServer((socket) => {
    const connection = ++connections;
    let [nth, text] = [0, ""];
    socket
      .on("error", () => undefined)
      .on("data", (piece) => {
        text += piece.toString();
        if (!text.endsWith("\r\n\r\nbody")) return;
        text = "";
        requests++;
        answer(socket, ++nth, connection);
      });
  });
  return { url: await serving(server), requests: () => requests };
}

describe("stale connections", () => {
  test.each([
    ["normally", (socket: net.Socket) => socket.end()],
    ["by a reset", (socket: net.Socket) => socket.resetAndDestroy()],
  ])("a kept connection that the server closes %s is replaced", async (_how, hangUp) => {
    const { url, requests } = await countingServer((socket, nth) => {
      if (nth === 1) socket.write(OK);
      else hangUp(socket);
    });
    const sender = senderTo(url);
    for (let nth = 0; nth < 5; nth++) {
      expect(await sender.send(request)).toMatchObject({ status: 200, body: "ok" });
    }
    expect(requests()).toBe(9);
  });

  test("a stale connection is replaced once, and a second failure is a network error", async () => {
    const { url, requests } = await countingServer((socket, nth, connection) => {
      if (nth === 1 && connection === 1) socket.write(OK);
      else socket.end();
    });
    const sender = senderTo(url);
    await sender.send(request);
    await expect(sender.send(request)).rejects.toMatchObject({ code: "network" });
    expect(requests()).toBe(3);
    // A new connection is not tried twice.
    await expect(sender.send(request)).rejects.toMatchObject({ code: "network" });
    expect(requests()).toBe(4);
  });

  test("each of several concurrent requests replaces its stale connection", async () => {
    const { url } = await countingServer((socket, nth) => {
      if (nth === 1) socket.write(OK);
      else socket.end();
    });
    const sender = senderTo(url);
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => sender.send(request)));
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    }
  });

  test("a request is not sent again after part of an answer has arrived", async () => {
    const { url, requests } = await countingServer((socket, nth) => {
      if (nth === 1) socket.write(OK);
      else socket.end("HTTP/1.1 20");
    });
    const sender = senderTo(url);
    await sender.send(request);
    await expect(sender.send(request)).rejects.toMatchObject({ code: "network" });
    expect(requests()).toBe(2);
  });

  test("a request is not sent again after the sender is closed", async () => {
    const { url, requests } = await countingServer((socket, nth) => {
      if (nth === 1) socket.write(OK);
      else sender.close();
    });
    const sender = senderTo(url);
    await sender.send(request);
    await expect(sender.send(request)).rejects.toMatchObject({ code: "network" });
    expect(requests()).toBe(2);
  });

  test("a server that closes every connection makes no fixture different", async () => {
    const server = http.createServer((req, res) => {
      res.on("finish", () => req.socket.end());
      req.resume().on("end", () => res.end());
    });
    const url = await serving(server);
    const fixture = {
      description: "",
      receivedAt: new Date(),
      headers: {},
      body: Buffer.from("x"),
    };
    const fixtures = Array.from({ length: 10 }, (_, at) => ({
      ...fixture,
      name: String(at),
      expect: { status: 200 },
    }));
    expect(await replayFixtures(url, fixtures)).toMatchObject({ asExpected: 10, different: 0 });
  });
});

describe("long answers", () => {
  const PIECE = Buffer.alloc(65_535, "å");

  test("an endless answer is cut at 64 KiB, between two characters, and not read further", async () => {
    let hasClosed: () => void;
    const closed = new Promise<void>((resolve) => (hasClosed = resolve));
    const server = http.createServer((_req, res) => {
      res.on("close", () => hasClosed());
      // Endless, as fast as the client reads.
      const write = (): void => {
        while (res.write(PIECE));
        res.once("drain", write);
      };
      write();
    });
    const url = await serving(server);
    const { status, body, isCut } = await senderTo(url).send(request);
    expect({ status, isCut }).toEqual({ status: 200, isCut: true });
    expect(body).toBe("å".repeat(32_767) + "\ufffd");
    await closed;
  });

  test("an answer of up to 64 KiB is complete", async () => {
    const server = http.createServer((_req, res) => res.end(Buffer.alloc(65_536, "x")));
    const answer = await senderTo(await serving(server)).send(request);
    expect(answer.body).toBe("x".repeat(65_536));
    expect(answer).not.toHaveProperty("isCut");
  });
});
