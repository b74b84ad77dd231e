import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { writeAnswerAndClose } from "../../adapters/http/node-answer.js";
import { discardNodeBody, readNodeBody } from "../../adapters/http/node-body.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { pass } from "../support/fake-time.js";

// Requests that are made by hand, so that each chunk comes when the test says.

const LIMITS = { maxBodyBytes: 100, bodyTimeoutMs: 10_000, uploadTimeoutMs: 60_000 };
/** Also listened to by Node's streams themselves. */
const EVENTS = ["data", "end", "error", "close"] as const;

let socket: Socket;
let req: IncomingMessage;
let before: readonly number[];

beforeEach(() => {
  vi.useFakeTimers();
  socket = new Socket();
  req = new IncomingMessage(socket);
  before = listeners();
});

afterEach(() => {
  req.destroy();
  socket.destroy();
});

function listeners(): readonly number[] {
  return [...EVENTS.map((name) => req.listenerCount(name)), socket.listenerCount("end")];
}

/** Lets the streams run. */
async function turn(): Promise<void> {
  await pass(1);
}

/** Expects that nothing of a reading is left. */
function expectNoTraces(): void {
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners()).toEqual(before);
}

it("an upload in two pieces leaves no timer and no listener behind", async () => {
  const reading = readNodeBody(req, LIMITS);
  req.push("one ");
  await turn();
  expect(vi.getTimerCount()).toBe(2);
  expect(socket.listenerCount("end")).toBe(1 + (before.at(-1) ?? 0));
  req.push("two");
  req.push(null);
  await turn();
  expect(Buffer.from((await reading) as Uint8Array).toString()).toBe("one two");
  expectNoTraces();
});

it("an upload whose first piece is too large is never watched", async () => {
  const reading = readNodeBody(req, LIMITS);
  req.emit("data", Buffer.alloc(101));
  expect(await reading).toMatchObject({ reason: "body_too_large", bytes: 101 });
  await turn();
  expectNoTraces();
});

it("an upload that stalls leaves no timer and no listener behind", async () => {
  const reading = readNodeBody(req, LIMITS);
  req.push("one");
  await turn();
  await pass(10_000);
  expect(await reading).toBeInstanceOf(UnreadableBody);
  expectNoTraces();
});

it("an upload whose sender hangs up leaves no timer and no listener behind", async () => {
  const reading = readNodeBody(req, LIMITS);
  req.push("one");
  await turn();
  req.destroy();
  await turn();
  expect(await reading).toBeUndefined();
  expectNoTraces();
});

it("an upload whose pieces each come in time may take longer than bodyTimeoutMs", async () => {
  const reading = readNodeBody(req, LIMITS);
  for (let piece = 0; piece < 5; piece++) {
    req.push("x");
    await pass(9_000);
  }
  req.push(null);
  await turn();
  expect(await reading).toHaveLength(5);
  expectNoTraces();
});

it("the rest of an upload that is dropped leaves no timer and no listener behind", async () => {
  const dropped = discardNodeBody(req);
  req.push("the rest");
  await turn();
  expect(vi.getTimerCount()).toBe(1);
  req.push(null);
  await turn();
  await dropped;
  expectNoTraces();
});

it("an upload that has stalled is answered at once, as it has no rest to drop", async () => {
  req.push("one");
  const res = new ServerResponse(req);
  res.assignSocket(new PassThrough() as unknown as Socket);
  const answer = { status: 408, headers: {}, body: "{}", outcome: "body_timeout" } as const;
  await writeAnswerAndClose(req, res, answer);
  expect(res.writableEnded).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it("the rest of an upload that has ended is not waited for", async () => {
  req.push(null);
  req.resume();
  await turn();
  await discardNodeBody(req);
  expectNoTraces();
});
