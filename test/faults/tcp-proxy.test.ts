import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../support/servers.js";
import { startTcpProxy, type TcpProxy } from "./harness/tcp-proxy.js";

/** An echo server behind a proxy that records what it receives. */
async function startEcho(): Promise<{ readonly proxy: TcpProxy; readonly told: () => string }> {
  let told = "";
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.on("data", (chunk: Buffer) => {
      told += chunk.toString();
      socket.write(chunk);
    });
  });
  const { port, close } = await listen(server);
  const proxy = await startTcpProxy(port);
  onTestFinished(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    await close();
  });
  return { proxy, told: () => told };
}

/** A client of the proxy: what it has received, and how its connection ended. */
async function openClient({ port }: TcpProxy) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  let heard = "";
  let ending: string | undefined;
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  socket.on("error", (error) => (ending = "code" in error ? String(error.code) : "error"));
  socket.on("close", () => (ending ??= "closed"));
  onTestFinished(() => {
    socket.destroy();
  });
  return {
    say: (text: string) => socket.write(text),
    heard: () => heard,
    ending: () => ending,
  };
}

/** Waiting time for things that must not happen. The loopback takes less than a millisecond. */
const QUIET_MS = 100;
const quiet = () => new Promise((resolve) => setTimeout(resolve, QUIET_MS));

it("a cut resets every connection, and new ones are accepted", async () => {
  const { proxy } = await startEcho();
  const clients = [await openClient(proxy), await openClient(proxy)];
  for (const { say } of clients) say("a");
  for (const { heard } of clients) await expect.poll(heard).toBe("a");
  expect(proxy.cut()).toBe(2);
  for (const { ending } of clients) await expect.poll(ending).toBe("ECONNRESET");
  const next = await openClient(proxy);
  next.say("b");
  await expect.poll(next.heard).toBe("b");
});

it("a black hole drops all data, and then resets the connections", async () => {
  const { proxy, told } = await startEcho();
  const client = await openClient(proxy);
  proxy.setBlackHole(true);
  client.say("a");
  await quiet();
  expect([told(), client.heard(), client.ending()]).toEqual(["", "", undefined]);
  proxy.setBlackHole(false);
  await expect.poll(client.ending).toBe("ECONNRESET");
  expect(told()).toBe("");
});

it("the fault proxy delivers held data late and in order", async () => {
  const { proxy, told } = await startEcho();
  const client = await openClient(proxy);
  proxy.setHeld(true);
  client.say("a");
  client.say("b");
  await quiet();
  expect(told()).toBe("");
  proxy.setHeld(false);
  client.say("c");
  await expect.poll(client.heard).toBe("abc");
  expect(told()).toBe("abc");
});

it("the fault proxy loses the answer to a request that arrived", async () => {
  const { proxy, told } = await startEcho();
  const client = await openClient(proxy);
  proxy.setAnswersLost(true);
  client.say("a");
  await expect.poll(client.ending).toBe("ECONNRESET");
  expect([told(), client.heard(), proxy.lostAnswers()]).toEqual(["a", "", 1]);
});

it("the fault proxy delays data in order, also when the delay ends", async () => {
  const { proxy } = await startEcho();
  const client = await openClient(proxy);
  proxy.setLatencyMs(200);
  const startedAt = performance.now();
  client.say("a");
  await quiet();
  proxy.setLatencyMs(0);
  client.say("b");
  await expect.poll(client.heard).toBe("ab");
  // Half of the delay was on the way to the server.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
});

it("the fault proxy resets a client if the server is down", async () => {
  const gone = await listen(createServer());
  await gone.close();
  const proxy = await startTcpProxy(gone.port);
  onTestFinished(proxy.close);
  const client = await openClient(proxy);
  await expect.poll(client.ending).toBeDefined();
});
