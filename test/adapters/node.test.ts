import http, {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type {} from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { recordOf } from "../../kit/sending/wire.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { shimRequest, shimResponse } from "../support/adapters/shim-request.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/odd-delivery.js";
import { eventually } from "../support/listening-receiver.js";

const open = watchedReceivers();

/** Serves nodeHandler behind code that calls it. */
const behind = (code: (req: IncomingMessage, res: ServerResponse, handle: () => void) => unknown) =>
  open((receiver, options) => {
    const handle = nodeHandler(receiver, options);
    return http.createServer((req, res) => {
      code(req, res, () => {
        handle(req, res);
      });
    });
  });

it("the log says how to mount nodeHandler if something has read the request", async () => {
  const server = await behind((req, _res, handle) => buffer(req).then(handle));
  expect((await server.send(await signed())).status).toBe(503);
  const line = server.lines[0]?.message;
  expect(line).toContain("Call nodeHandler(receiver) before anything reads the request");
  // Each framework that mounts the Node adapter has its own setting.
  for (const framework of ["Express", "Nest", "Fastify", "Koa", "Next pages/api"]) {
    expect(line).toContain(` ${framework}: `);
  }
  expect(line).toContain('app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" })');
  expect(line).toContain("koaHandler(receiver)");
});

it("nodeHandler accepts an empty body that other code has already read to its end", async () => {
  const server = await behind((req, _res, handle) => req.resume().on("end", handle));
  await server.send(await signed({ body: "" }));
  // Authentic, because the empty body was signed.
  expect(outcomesOf(server)).toEqual(["unrecognized"]);
});

it("a header that a middleware writes into one response is in no other", async () => {
  let count = 0;
  const server = await behind((_req, res, handle) => {
    const writeHead = res.writeHead.bind(res) as (
      status: number,
      headers: OutgoingHttpHeaders,
    ) => typeof res;
    // As middlewares do that set a cookie just before the answer.
    Object.assign(res, {
      writeHead: (status: number, headers: OutgoingHttpHeaders) => {
        if (count++ === 0) headers["set-cookie"] = "session=of-the-first";
        return writeHead(status, headers);
      },
    });
    handle();
  });
  const answers = [];
  for (let nth = 0; nth < 3; nth++) answers.push(await server.send(await signed()));
  expect(answers.map(({ body }) => body)).toEqual([
    '{"outcome":"handled"}',
    '{"outcome":"duplicate"}',
    '{"outcome":"duplicate"}',
  ]);
  const cookies = answers.map(({ headers }) => headers["set-cookie"]);
  expect(cookies).toEqual(["session=of-the-first", undefined, undefined]);
});

describe("a request that a serverless shim has made up", () => {
  /** Its body is pushed when it is asked for, as serverless-http does it. */
  const lazily: Fill = (req, body) => {
    req._read = () => {
      for (const piece of [body, null]) req.push(piece);
    };
  };
  /** It has no stream behind it, and its events are told by hand. */
  const told: Fill = (req, body) => {
    req._read = () => {
      for (const chunk of [null, body]) req.emit("data", chunk);
      req.emit("end");
    };
  };
  type Fill = (req: IncomingMessage, body: Uint8Array | string) => unknown;

  it.each<[string, Fill, string | Uint8Array]>([
    [
      "has its body in its stream",
      (req, body) => {
        for (const piece of [body, null]) req.push(piece);
      },
      ODD_BODY,
    ],
    [
      "has ended and has its body in rawBody",
      async (req, rawBody) => {
        Object.assign(req, { rawBody }).push(null);
        await new Promise((resolve) => req.on("end", resolve).resume());
      },
      Buffer.from(ODD_BODY),
    ],
    ["pushes its body when it is asked for", lazily, ODD_BODY],
    [
      "pushes its body when it is asked for, and is called by an event",
      async (req, body) => {
        lazily(req, body);
        await new Promise(setImmediate);
      },
      ODD_BODY,
    ],
    ["tells of its bytes behind nothing", told, Buffer.from(ODD_BODY)],
    ["tells of its text behind nothing", told, ODD_BODY],
  ])("is read where it %s", async (_what, fill, body) => {
    for (const length of [{}, { "content-length": String(Buffer.byteLength(ODD_BODY)) }]) {
      const { receiver, bodies, outcomes } = createBodyReceiver();
      const { headers } = await oddDelivery();
      const req = shimRequest({ headers: { ...recordOf(headers), ...length } });
      await fill(req, body);
      const { res, written } = shimResponse(req);
      nodeHandler(receiver)(req, res);
      await eventually(() => res.writableFinished).toBe(true);
      expect(String(written.read())).toContain('{"outcome":"handled"}');
      expect(outcomes()).toEqual(["handled"]);
      expect(bodies).toEqual([ODD_BODY]);
    }
  });
});
