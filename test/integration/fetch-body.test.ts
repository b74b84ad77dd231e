import type { UnderlyingSource } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import { ConfigurationError, createWebhookReceiver } from "../../src/index.js";
import { signed, withHeader, type AdapterRequest } from "../support/adapter-exchange.js";
import { requestOf } from "../support/adapter-targets.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET, alarm } from "../support/deliveries.js";
import { http1Client } from "../support/http-clients.js";
import { listen } from "../support/servers.js";

/** Parsed and serialised again, it is another one. */
const ODD_BODY = `\n {"alarm" :\t${JSON.stringify(alarm()).replace("{", '{"id":0,  ')}}\r\n`;
const oddDelivery = () => signed({ body: ODD_BODY });

function createReceiver(options: { maxBodyBytes?: number } = {}) {
  const collector = createCollector();
  const bodies: string[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: {
      new_alarm: (_alarm, { rawBody }) => bodies.push(new TextDecoder().decode(rawBody)),
    },
    now: () => NOW_MS,
    ...collector.options,
    ...options,
  });
  const outcomes = () => collector.reports.map(({ outcome }) => outcome);
  return { receiver, bodies, outcomes, lines: collector.lines };
}

/** What is used of a Hono app. */
interface App {
  readonly request: (request: Request) => Response | Promise<Response>;
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** Sends a request to a Hono app in process, and to the same app on Node. */
const transports = [
  ["in process", (app: App, request: AdapterRequest) => app.request(requestOf(request))],
  [
    "on @hono/node-server",
    async (app: App, request: AdapterRequest) => {
      const server = await listen(createAdaptorServer({ fetch: app.fetch }));
      const client = http1Client(server.port);
      const answer = await client.send(request);
      client.close();
      await server.close();
      return new Response(answer.body, answer);
    },
  ],
] as const;

describe.each(transports)("Hono %s", (_name, send) => {
  const mountBehind = (middleware: MiddlewareHandler, options: { maxBodyBytes?: number } = {}) => {
    const mounted = createReceiver(options);
    const app = new Hono().use(middleware).post("/", honoHandler(mounted.receiver));
    return { ...mounted, app };
  };

  const FORM = "application/x-www-form-urlencoded";
  const JSON_TYPE = "application/json";

  const keeping: readonly (readonly [string, string, MiddlewareHandler])[] = [
    ["c.req.text()", JSON_TYPE, async (c, next) => (await c.req.text(), next())],
    ["c.req.json()", JSON_TYPE, async (c, next) => (await c.req.json(), next())],
    ["c.req.arrayBuffer()", JSON_TYPE, async (c, next) => (await c.req.arrayBuffer(), next())],
    ["c.req.bytes()", JSON_TYPE, async (c, next) => (await c.req.bytes(), next())],
    ["c.req.parseBody() of JSON", JSON_TYPE, async (c, next) => (await c.req.parseBody(), next())],
    ["c.req.parseBody() of a form", FORM, async (c, next) => (await c.req.parseBody(), next())],
    [
      "a clone of c.req.raw",
      JSON_TYPE,
      async (c, next) => (await c.req.raw.clone().json(), next()),
    ],
    ["nothing, but waits", JSON_TYPE, async (_c, next) => (await sleep(10), next())],
  ];

  it.each(keeping)(
    "gets the exact body behind a middleware that reads %s",
    async (_what, contentType, read) => {
      const { app, bodies } = mountBehind(read);
      const request = withHeader(await oddDelivery(), "content-type", contentType);
      const response = await send(app, request);
      expect(await response.json()).toEqual({ outcome: "handled" });
      expect(bodies).toEqual([ODD_BODY]);
    },
  );

  const consuming: readonly (readonly [string, string, MiddlewareHandler])[] = [
    ["c.req.raw.json()", JSON_TYPE, async (c, next) => (await c.req.raw.json(), next())],
    ["c.req.raw.text()", JSON_TYPE, async (c, next) => (await c.req.raw.text(), next())],
    [
      "c.req.raw.arrayBuffer()",
      JSON_TYPE,
      async (c, next) => (await c.req.raw.arrayBuffer(), next()),
    ],
    ["c.req.blob()", JSON_TYPE, async (c, next) => (await c.req.blob(), next())],
    ["c.req.formData()", FORM, async (c, next) => (await c.req.formData(), next())],
    ["a reader of c.req.raw.body", JSON_TYPE, (c, next) => (c.req.raw.body?.getReader(), next())],
  ];

  it.each(consuming)("answers 503 at once behind %s", async (_what, contentType, read) => {
    const { app, bodies, lines } = mountBehind(read);
    const startedAt = performance.now();
    const request = withHeader(await oddDelivery(), "content-type", contentType);
    const response = await send(app, request);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "BODY_CONSUMED" } });
    expect(bodies).toEqual([]);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.message).toContain(
      "Mount honoHandler(receiver) before any middleware that parses the body",
    );
  });

  it("never takes a text that was decoded with loss for the body", async () => {
    const { app, bodies, outcomes } = mountBehind(async (c, next) => {
      await c.req.text();
      await next();
    });
    const request = await signed({ body: Uint8Array.of(0x7b, 0xff, 0x7d) });
    expect((await send(app, request)).status).toBe(409);
    expect(outcomes()).toEqual(["signature_mismatch"]);
    expect(bodies).toEqual([]);
  });

  it("holds to maxBodyBytes behind a middleware that has read more", async () => {
    const { app, outcomes } = mountBehind(async (c, next) => (await c.req.text(), next()), {
      maxBodyBytes: 100,
    });
    expect((await send(app, await oddDelivery())).status).toBe(409);
    expect(outcomes()).toEqual(["body_too_large"]);
  });
});

/** A request whose body is what `source` gives. */
const streaming = async (source: UnderlyingSource<Uint8Array>): Promise<Request> => {
  const { headers } = await oddDelivery();
  return new Request("http://gateway.example/", {
    method: "POST",
    headers: headers.map(([name, value]): [string, string] => [name, value]),
    body: new ReadableStream(source),
    duplex: "half",
  });
};

describe("Hono", () => {
  it("answers nobody when the sender goes away while a middleware reads", async () => {
    const { receiver, outcomes } = createReceiver();
    const app = new Hono()
      .use(async (c, next) => {
        await c.req.text().catch(() => undefined);
        await next();
      })
      .post("/", honoHandler(receiver));
    const request = await streaming({
      pull: (controller) => {
        controller.error(new Error("reset"));
      },
    });
    const response = await app.request(request);
    expect(response.status).toBe(408);
    expect(await response.text()).toBe("");
    expect(outcomes()).toEqual([]);
  });
});

describe("Fetch", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const ways: readonly (readonly [string, (request: Request) => unknown])[] = [
    ["read", (request) => request.text()],
    ["parsed", (request) => request.json()],
    ["locked by a reader", (request) => request.body?.getReader()],
    ["being piped", (request) => void request.body?.pipeTo(new WritableStream())],
  ];

  it.each(ways)("answers 503 at once for a request that was %s", async (_how, use) => {
    const { receiver, bodies, lines } = createReceiver();
    const request = requestOf(await oddDelivery());
    await use(request);
    const response = await fetchHandler(receiver)(request);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "BODY_CONSUMED" } });
    expect(bodies).toEqual([]);
    expect(lines[0]?.message).toContain(
      "Call fetchHandler(receiver) with a request that nothing has read",
    );
  });

  it("leaves a request readable to whoever has cloned it before", async () => {
    const { receiver, bodies } = createReceiver();
    const request = requestOf(await oddDelivery());
    const copy = request.clone();
    expect((await fetchHandler(receiver)(request)).status).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
    expect(await copy.text()).toBe(ODD_BODY);
  });

  it("joins the pieces of a stream, empty ones too", async () => {
    const { receiver, bodies } = createReceiver();
    const { body = new Uint8Array(0) } = await oddDelivery();
    const pieces = [body.subarray(0, 1), body.subarray(1, 1), body.subarray(1)];
    const request = await streaming({
      pull: (controller) => {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    expect((await fetchHandler(receiver)(request)).status).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("answers nobody when the sender goes away", async () => {
    const { receiver, outcomes } = createReceiver();
    const request = await streaming({
      pull: (controller) => {
        controller.error(new Error("reset"));
      },
    });
    const response = await fetchHandler(receiver)(request);
    expect(response.status).toBe(408);
    expect(await response.text()).toBe("");
    expect(outcomes()).toEqual([]);
  });

  it("answers 408 when the upload stalls", async () => {
    vi.useFakeTimers();
    const { receiver, outcomes } = createReceiver();
    const request = await streaming({
      start: (controller) => {
        controller.enqueue(Uint8Array.of(0x7b));
      },
    });
    const answering = fetchHandler(receiver)(request);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(outcomes()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const response = await answering;
    expect(response.status).toBe(408);
    expect(response.headers.get("connection")).toBe("close");
    expect(await response.text()).toContain("BODY_TIMEOUT");
  });

  it("answers an endless upload at once, and gives it up two seconds later", async () => {
    vi.useFakeTimers();
    const { receiver } = createReceiver();
    const cancel = vi.fn();
    let pulled = 0;
    const request = await streaming({
      pull: async (controller) => {
        pulled += 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
        controller.enqueue(new Uint8Array(1_048_576));
      },
      cancel,
    });
    const answering = fetchHandler(receiver)(request);
    await vi.advanceTimersByTimeAsync(100);
    const reader = (await answering).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value as Uint8Array)).toContain("BODY_TOO_LARGE");
    const pulledBefore = pulled;
    const end = reader?.read();
    await vi.advanceTimersByTimeAsync(1_800);
    expect(pulled).toBeGreaterThan(pulledBefore);
    expect(cancel).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(cancel).toHaveBeenCalledOnce();
    expect(await end).toMatchObject({ done: true });
  });

  it("survives an answer that nobody wants", async () => {
    const { receiver } = createReceiver({ maxBodyBytes: 10 });
    const response = await fetchHandler(receiver)(requestOf(await oddDelivery()));
    await expect(response.body?.cancel()).resolves.toBeUndefined();
  });
});

describe.each([
  ["expressHandler", expressHandler],
  ["fetchHandler", fetchHandler],
  ["honoHandler", honoHandler],
  ["nodeHandler", nodeHandler],
])("%s", (_name, handler) => {
  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31])("refuses bodyTimeoutMs: %d", (bodyTimeoutMs) => {
    const { receiver } = createReceiver();
    expect(() => handler(receiver, { bodyTimeoutMs })).toThrow(ConfigurationError);
  });

  it.each([1, 2 ** 31 - 1, undefined])("takes bodyTimeoutMs: %s", (bodyTimeoutMs) => {
    const { receiver } = createReceiver();
    expect(handler(receiver, { bodyTimeoutMs })).toBeTypeOf("function");
  });
});
