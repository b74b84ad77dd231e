import { setTimeout as sleep } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../adapters/hono.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import { signed, withHeader } from "../support/adapters/adapter-exchange.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { createBodyReceiver, streamingRequest } from "../support/adapters/body-receiver.js";
import { http1Client } from "../support/adapters/http-clients.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";
import { listen } from "../support/servers.js";

/** What is used of a Hono app. */
interface App {
  readonly request: (request: Request) => Response | Promise<Response>;
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** Sends a request to a Hono app in process, and to the same app on Node. */
const transports = [
  ["in process", (app: App, request: WireRequest) => app.request(requestOf(request))],
  [
    "on @hono/node-server",
    async (app: App, request: WireRequest) => {
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
    const mounted = createBodyReceiver(options);
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
    // Not after 10 s, the time-out of a body whose bytes no longer come.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
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

describe("Hono", () => {
  it("runs no handler when the sender goes away while a middleware reads", async () => {
    const { receiver, outcomes } = createBodyReceiver();
    const app = new Hono()
      .use(async (c, next) => {
        await c.req.text().catch(() => undefined);
        await next();
      })
      .post("/", honoHandler(receiver));
    const request = await streamingRequest({
      pull: (controller) => controller.error(new Error("reset")),
    });
    const response = await app.request(request);
    expect(response.status).toBe(408);
    expect(await response.text()).toBe("");
    expect(outcomes()).toEqual([]);
  });
});
