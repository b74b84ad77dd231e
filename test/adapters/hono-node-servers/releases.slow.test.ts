import type { Server } from "node:net";
import { Hono, type MiddlewareHandler } from "hono";
import { createAdaptorServer as release1_13 } from "hono-node-server-1.13";
import { createAdaptorServer as release1_19 } from "hono-node-server-1.19";
import { createAdaptorServer as release2_0 } from "hono-node-server-2.0";
import { createAdaptorServer as release2_1 } from "@hono/node-server";
import { afterAll, describe, expect, it } from "vitest";
import { honoHandler } from "../../../adapters/hono.js";
import { signed, withHeader } from "../../support/adapters/adapter-exchange.js";
import { outcomesOf, watchedReceivers } from "../../support/adapters/watched-receiver.js";
import { arrivals } from "../../support/arrivals.js";
import { alarmBody } from "../../support/deliveries.js";
import { ODD_BODY, oddDelivery } from "../../support/odd-delivery.js";
import { eventually } from "../../support/listening-receiver.js";
import { headOf, wireOf } from "../../support/raw-connection.js";

/** `createAdaptorServer` of any release of @hono/node-server. */
type CreateAdaptorServer = (options: {
  fetch: (request: Request) => Response | Promise<Response>;
  overrideGlobalObjects: boolean;
}) => unknown;

const releases: readonly (readonly [string, CreateAdaptorServer])[] = [
  ["1.13", release1_13],
  ["1.19", release1_19],
  ["2.0", release2_0],
  ["2.1", release2_1],
];

const SIGNATURE = "x-webhook-signature";

const middlewares: readonly (readonly [string, MiddlewareHandler])[] = [
  ["with nothing in front", (_c, next) => next()],
  ["behind one that looks at a header", (c, next) => (c.req.header("x-webhook-id"), next())],
  [
    "behind one that adds a header to the answer",
    async (c, next) => {
      await next();
      c.header("x-request-id", "1");
    },
  ],
];

const cases = releases.flatMap(([release, createServer]) =>
  [false, true].map((overrideGlobalObjects) => ({ release, createServer, overrideGlobalObjects })),
);

describe.each(cases)(
  "Hono on @hono/node-server $release, overrideGlobalObjects $overrideGlobalObjects",
  ({ createServer, overrideGlobalObjects }) => {
    const { Request, Response } = globalThis;
    // A release puts its own in place of these, and nothing of it restores them.
    afterAll(() => {
      Object.assign(globalThis, { Request, Response });
    });
    const open = watchedReceivers();
    const openBehind = (middleware: MiddlewareHandler) =>
      open.connected((receiver, options) => {
        const app = new Hono().use(middleware).post("/", honoHandler(receiver, options));
        const fetch = (request: globalThis.Request) => app.fetch(request);
        return createServer({ fetch, overrideGlobalObjects }) as Server;
      });

    describe.each(middlewares)("%s", (_where, middleware) => {
      it.each(arrivals)("handles a delivery %s once", async (_how, send) => {
        const { server, connection } = await openBehind(middleware);
        const request = await oddDelivery();
        await send(server, connection, request);
        await send(server, connection, request);
        // As received: some releases send an answer with another header in chunks.
        await eventually(() => connection.received()).toContain('{"outcome":"duplicate"}');
        const received = connection.received();
        expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
        expect(received.match(/\{.*\}/g)).toEqual([
          '{"outcome":"handled"}',
          '{"outcome":"duplicate"}',
        ]);
        expect(server.bodies()).toEqual([ODD_BODY]);
      });

      it("refuses an unsigned delivery and one with another secret", async () => {
        const { server, connection } = await openBehind(middleware);
        const good = await signed();
        const forged = withHeader(good, SIGNATURE, `v1=${"0".repeat(64)}`);
        for (const request of [forged, withHeader(good, SIGNATURE)]) {
          await connection.write(wireOf(request));
        }
        await connection.answers(2);
        expect(outcomesOf(server)).toEqual(["signature_mismatch", "unsigned"]);
        expect(server.runs).toEqual([]);
      });

      it("handles a large body that arrives in pieces", async () => {
        const body = alarmBody({ payload: "x".repeat(300_000) });
        const { server, connection } = await openBehind(middleware);
        await connection.write(headOf(await signed({ body }), `Content-Length: ${body.length}`));
        for (let at = 0; at < body.length; at += 50_000) {
          await connection.write(body.slice(at, at + 50_000));
        }
        expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
        expect(server.bodies()).toEqual([body]);
      });

      it("asks the gateway to send again while it drains", async () => {
        const { server, connection } = await openBehind(middleware);
        await server.receiver.drain();
        await connection.write(wireOf(await signed()));
        const [answer] = await connection.answers(1);
        expect(answer).toMatchObject({ status: 503 });
        expect(answer?.headers["retry-after"]).toMatch(/^[0-9]+$/);
      });
    });
  },
);
