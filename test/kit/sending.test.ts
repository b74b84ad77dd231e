import http from "node:http";
import net from "node:net";
import { setTimeout as realSleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createSender } from "../../kit/sending/sender.js";
import type { WebhookTarget } from "../../kit/sending/target.js";
import { linesOf, recordOf, type HeaderLine } from "../../kit/sending/wire.js";
import { serving } from "../support/serving.js";

function senderTo(url: string) {
  const sender = createSender(url);
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

/** A server that answers the first request of each connection. */
const onceAnswering = (then: (socket: net.Socket) => unknown) =>
  countingServer((socket, nth) => {
    if (nth === 1) socket.write(OK);
    else then(socket);
  });

test.each([
  ["normally", (socket: net.Socket) => socket.end()],
  ["by a reset", (socket: net.Socket) => socket.resetAndDestroy()],
])("a kept connection that the server closes %s is replaced", async (_how, hangUp) => {
  const { url, requests } = await onceAnswering(hangUp);
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
  const { url } = await onceAnswering((socket) => socket.end());
  const sender = senderTo(url);
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => sender.send(request)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  }
});

test.each<[string, (sender: ReturnType<typeof senderTo>, socket: net.Socket) => unknown]>([
  ["part of an answer has arrived", (_sender, socket) => socket.end("HTTP/1.1 20")],
  ["the sender is closed", (sender) => sender.close()],
])("a request is not sent again after %s", async (_what, end) => {
  const { url, requests } = await onceAnswering((socket) => end(sender, socket));
  const sender = senderTo(url);
  await sender.send(request);
  await expect(sender.send(request)).rejects.toMatchObject({ code: "network" });
  expect(requests()).toBe(2);
});

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

const send = (target: unknown, options = {}) =>
  createSender(target as WebhookTarget, options).send(request);

const answer = { status: 200, headers: {}, body: "" };
const expected = { name: "SendError", code: "network" };
test.each([
  ["nothing", undefined],
  ["no status", { ...answer, status: undefined }],
  ["a status in text", { ...answer, status: "200" }],
  ["a status with a fraction", { ...answer, status: 200.5 }],
  ["a status of two digits", { ...answer, status: 99 }],
  ["a status of four digits", { ...answer, status: 1000 }],
  ["no headers", { ...answer, headers: null }],
  ["a body that is not text", { ...answer, body: 5 }],
])("a target that resolves to %s is a network error", async (_what, given) => {
  await expect(send({ receive: () => Promise.resolve(given) })).rejects.toMatchObject(expected);
  await expect(send({ receive: () => given })).rejects.toMatchObject(expected);
  await expect(send(() => Promise.resolve(given))).rejects.toMatchObject(expected);
});

test("a target that throws, at once or later, is a network error", async () => {
  const thrower = () => {
    throw new Error("at once");
  };
  await expect(send({ receive: thrower })).rejects.toThrow("at once");
  await expect(send(() => Promise.reject(new Error("later")))).rejects.toThrow("later");
  await expect(send(() => Promise.reject(new Error()))).rejects.toMatchObject(expected);
});

test.each([{}, null, { receive: "no function" }])("createSender refuses the target %j", (to) => {
  expect(() => createSender(to as unknown as WebhookTarget)).toThrow(
    "the target must be a URL, a receiver or a function from Request to Response",
  );
});

test("a long Response is cut at 64 KiB, and its stream is cancelled", async () => {
  let pulls = 0;
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulls++;
      controller.enqueue(Buffer.alloc(10_000, "x"));
    },
    cancel() {
      isCancelled = true;
    },
  });
  const { status, body, isCut } = await send(() => new Response(endless, { status: 201 }));
  expect({ status, length: body.length, isCut }).toEqual({
    status: 201,
    length: 65_536,
    isCut: true,
  });
  expect(pulls).toBeLessThan(20);
  expect(isCancelled).toBe(true);
});

test("a Response that does not end is a time-out, and its stream is cancelled", async () => {
  let cancel: (() => void) | undefined;
  const cancelled = new Promise<void>((resolve) => (cancel = resolve));
  const silent = new ReadableStream<Uint8Array>({
    cancel() {
      cancel?.();
    },
  });
  const sending = send(() => new Response(silent), { timeoutMs: 20 });
  await expect(sending).rejects.toMatchObject({ code: "timeout" });
  await cancelled;
});

test("a Response whose stream fails is a network error, and one without a body is empty", async () => {
  const failing = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await realSleep(1);
      controller.error(new Error("half way"));
    },
  });
  await expect(send(() => new Response(failing))).rejects.toThrow("half way");
  expect(await send(() => new Response(null, { status: 204 }))).toMatchObject({
    status: 204,
    body: "",
  });
});

const name = fc.constantFrom("A", "a", "X-Id", "x-id", "X-ID", "__proto__", "constructor");
const lines = fc.array(fc.tuple(name, fc.string()));

test("header lines as a record keep every value in order, under the first spelling of the name", () => {
  fc.assert(
    fc.property(lines, (given) => {
      const record = recordOf(given);
      const names = Object.keys(record);
      expect(new Set(names.map((one) => one.toLowerCase())).size).toBe(names.length);
      const back = linesOf(record);
      for (const one of names) {
        const isSame = ([other]: HeaderLine) => other.toLowerCase() === one.toLowerCase();
        expect(back.filter(isSame).map(([, value]) => value)).toEqual(
          given.filter(isSame).map(([, value]) => value),
        );
        expect(given.find(isSame)?.[0]).toBe(one);
      }
      expect(back).toHaveLength(given.length);
    }),
  );
});

test("a header name that is repeated 400 000 times is collected in linear time", () => {
  const many = Array.from({ length: 400_000 }, (_, at): HeaderLine => ["X-A", String(at)]);
  const startedAt = performance.now();
  expect(recordOf(many)["X-A"]).toHaveLength(400_000);
  // A new array for each line would copy 80 billion values.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
