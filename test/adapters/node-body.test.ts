import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type {} from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { recordOf } from "../../kit/sending/wire.js";
import { bytesOf, signed } from "../support/adapters/adapter-exchange.js";
import { alarm } from "../support/deliveries.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
import { http1Client, type HttpClient } from "../support/adapters/http-clients.js";
import { throwing } from "../support/faults.js";
import {
  listenWith,
  type CreateServer,
  type ListeningReceiver,
} from "../support/listening-receiver.js";
import { oddDelivery } from "../support/fuzz/odd-delivery.js";
import { wireOf } from "../support/raw-connection.js";

let server: ListeningReceiver;
let client: HttpClient;

async function serve(createServer: CreateServer): Promise<void> {
  server = await listenWith(createServer);
  client = http1Client(server.port);
}

afterEach(async () => {
  client.close();
  await server.close();
});

/** Serves nodeHandler behind code that calls it. */
const behind = (code: (req: IncomingMessage, res: ServerResponse, handle: () => void) => unknown) =>
  serve((receiver, options) => {
    const handle = nodeHandler(receiver, options);
    return http.createServer((req, res) => {
      code(req, res, () => {
        handle(req, res);
      });
    });
  });

/** What is answered to a request that a serverless shim made. */
async function answerTo(req: IncomingMessage): Promise<string> {
  const { res, written } = shimResponse(req);
  nodeHandler(server.receiver)(req, res);
  await new Promise((resolve) => res.on("finish", resolve));
  return String(written.read());
}

const outcomes = () => server.reports.map(({ outcome }) => outcome);

describe("plain Node", () => {
  it("the log says how to mount nodeHandler if something has read the request", async () => {
    await behind((req, _res, handle) => buffer(req).then(handle));
    expect((await client.send(await signed())).status).toBe(503);
    const line = server.lines[0]?.message;
    expect(line).toContain("Call nodeHandler(receiver) before anything reads the request");
    // Each framework that mounts the Node adapter has its own setting.
    for (const framework of ["Express", "Nest", "Fastify", "Koa", "Next pages/api"]) {
      expect(line).toContain(` ${framework}: `);
    }
    expect(line).toContain('app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" })');
    expect(line).toContain("koaHandler(receiver)");
  });

  it.each(["hex", "base64", "latin1"] as const)(
    "nodeHandler restores the bytes of a stream with the encoding %s",
    async (encoding) => {
      await behind((req, _res, handle) => {
        req.setEncoding(encoding);
        handle();
      });
      const request = await signed({ body: JSON.stringify({ alarm: alarm({ text: "Ålarm" }) }) });
      expect((await client.send(request)).status).toBe(200);
    },
  );

  it("nodeHandler accepts an empty body that other code has already read to its end", async () => {
    await behind((req, _res, handle) => req.resume().on("end", handle));
    await client.send(await signed({ body: "" }));
    // Authentic, because the empty body was signed.
    expect(outcomes()).toEqual(["unrecognized"]);
  });

  it("nodeHandler closes the connection if the response fails, so that the gateway sends again", async () => {
    await behind((_req, res, handle) => {
      res.writeHead = throwing(new Error("a wrapper of the response"));
      handle();
    });
    await expect(client.send(await signed())).rejects.toThrow("socket hang up");
    expect(outcomes()).toEqual(["handled"]);
  });

  it.each([
    ["the body in its stream", true],
    ["an ended stream and the body in rawBody", false],
  ])("nodeHandler reads a request that a serverless shim made with %s", async (_how, inStream) => {
    await serve((receiver) => http.createServer(nodeHandler(receiver)));
    const { headers, body } = await oddDelivery();
    const req = shimRequest({ headers: recordOf(headers) });
    if (inStream) req.push(body);
    req.push(null);
    if (!inStream) {
      Object.assign(req, { rawBody: body });
      await new Promise((resolve) => req.on("end", resolve).resume());
    }
    expect(await answerTo(req)).toContain('{"outcome":"handled"}');
  });

  it("nodeHandler reads a request whose serverless shim supplies the body only on read", async () => {
    await serve((receiver) => http.createServer(nodeHandler(receiver)));
    const { headers, body } = await oddDelivery();
    const req = shimRequest({
      headers: { ...recordOf(headers), "content-length": String(body?.length) },
      _read() {
        req.push(body);
        req.push(null);
      },
    });
    // Like a function that awaits something first: the stream has no data before the next tick.
    await Promise.resolve();
    expect(await answerTo(req)).toContain('{"outcome":"handled"}');
  });

  it("nodeHandler reads the next request of a connection after it has refused one", async () => {
    await serve((receiver) => http.createServer(nodeHandler(receiver)));
    const connection = await server.connect();
    const first = await signed({ id: "first" });
    await connection.write(wireOf({ ...first, body: bytesOf("something else") }));
    await connection.write(wireOf(first));
    const answers = await connection.answers(2);
    expect(answers.map(({ status }) => status)).toEqual([409, 200]);
    connection.socket.end();
  });
});
