import http2 from "node:http2";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { recordOf } from "../../kit/sending/wire.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { deferred } from "../support/deferred.js";
import { httpServers } from "../support/adapters/http-servers.js";
import { eventually } from "../support/listening-receiver.js";
import { wireOf } from "../support/raw-connection.js";
import { watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

describe.each(httpServers)("%s, when its receiver drains", (_name, create) => {
  it("closes a kept connection with the 503, so that the sender goes to another process", async () => {
    const { server, connection } = await open.connected(create);
    await connection.write(wireOf(await signed({ id: "before" })));
    const [before] = await connection.answers(1);
    expect(before).toMatchObject({ status: 200 });
    expect(before?.headers["connection"]).not.toBe("close");
    await server.receiver.drain();
    await connection.write(wireOf(await signed({ id: "after" })));
    expect((await connection.answers(2))[1]).toMatchObject({
      status: 503,
      headers: { connection: "close", "retry-after": "10" },
    });
    expect(await connection.closed).toEqual({ error: undefined });
  });

  it("closes the connection of a delivery that was running, with its answer", async () => {
    const work = deferred();
    const { server, connection } = await open.connected(create, { handler: () => work.promise });
    await connection.write(wireOf(await signed()));
    await eventually(() => server.runs.length).toBe(1);
    const drained = server.receiver.drain();
    work.resolve();
    await drained;
    expect((await connection.answers(1))[0]).toMatchObject({
      status: 200,
      headers: { connection: "close" },
    });
    await connection.closed;
  });
});

it("a draining receiver sends GOAWAY over HTTP/2, and open streams are answered", async () => {
  const work = deferred();
  const server = await open((receiver) => http2.createServer(nodeHandler(receiver)), {
    handler: () => work.promise,
  });
  const session = http2.connect(`http://127.0.0.1:${String(server.port)}`);
  const codes: number[] = [];
  session.on("goaway", (code: number) => codes.push(code));
  const closed = new Promise((resolve) => session.on("close", resolve));
  const send = async (id: string): Promise<number | undefined> => {
    const { headers, body } = await signed({ id });
    const stream = session.request({ ":method": "POST", ":path": "/", ...recordOf(headers) });
    stream.end(body).resume();
    return new Promise((resolve, reject) => {
      stream.on("error", reject).on("response", (head) => resolve(head[":status"]));
    });
  };
  const running = send("running");
  await eventually(() => server.runs.length).toBe(1);
  const drained = server.receiver.drain();
  expect(await send("refused")).toBe(503);
  await eventually(() => codes).toEqual([http2.constants.NGHTTP2_NO_ERROR]);
  work.resolve();
  expect(await running).toBe(200);
  await drained;
  await closed;
});
