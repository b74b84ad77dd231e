import type { Server } from "node:net";
import { Hono, type MiddlewareHandler } from "hono";
import { describe, expect, it } from "vitest";
import { honoHandler } from "../../../adapters/hono.js";
import { signed, withHeader } from "./adapter-exchange.js";
import { arrivals } from "../arrivals.js";
import { alarm } from "../deliveries.js";
import { eventually } from "../listening-receiver.js";
import { ODD_BODY, oddDelivery } from "../fuzz/odd-delivery.js";
import { headOf, wireOf } from "../raw-connection.js";
import { outcomesOf, watchedReceivers } from "./watched-receiver.js";

/** `createAdaptorServer` of any release of @hono/node-server. */
type CreateAdaptorServer = (options: {
  fetch: (request: Request) => Response | Promise<Response>;
  overrideGlobalObjects: boolean;
}) => unknown;

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

/** A release in a file of its own: each puts its own `Request` and `Response` in place of the global ones. */
export function describeHonoRelease(release: string, createServer: CreateAdaptorServer): void {
  // First without overriding, because nothing restores the global ones.
  describe.each([false, true])(
    `Hono on @hono/node-server ${release}, overrideGlobalObjects %s`,
    (overrideGlobalObjects) => {
      const open = watchedReceivers();
      const openBehind = (middleware: MiddlewareHandler) =>
        open((receiver, options) => {
          const app = new Hono().use(middleware).post("/", honoHandler(receiver, options));
          return createServer({
            fetch: (...given) => app.fetch(...given),
            overrideGlobalObjects,
          }) as Server;
        });

      describe.each(middlewares)("%s", (_where, middleware) => {
        it.each(arrivals)("handles a delivery %s once", async (_how, send) => {
          const server = await openBehind(middleware);
          const request = await oddDelivery();
          const connection = await server.connect();
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
          connection.socket.end();
        });

        it("refuses an unsigned delivery and one with another secret", async () => {
          const server = await openBehind(middleware);
          const connection = await server.connect();
          const good = await signed();
          const forged = withHeader(good, SIGNATURE, `v1=${"0".repeat(64)}`);
          for (const request of [forged, withHeader(good, SIGNATURE)]) {
            await connection.write(wireOf(request));
          }
          await connection.answers(2);
          expect(outcomesOf(server)).toEqual(["signature_mismatch", "unsigned"]);
          expect(server.runs).toEqual([]);
          connection.socket.end();
        });

        it("handles a large body that arrives in pieces", async () => {
          const body = JSON.stringify({ alarm: alarm({ payload: "x".repeat(300_000) }) });
          const request = await signed({ body });
          const server = await openBehind(middleware);
          const connection = await server.connect();
          const bytes = Buffer.from(body);
          await connection.write(headOf(request, `Content-Length: ${String(bytes.length)}`));
          for (let at = 0; at < bytes.length; at += 50_000) {
            await connection.write(bytes.subarray(at, at + 50_000));
          }
          expect((await connection.answers(1))[0]).toMatchObject({ status: 200 });
          expect(server.runs.map(({ rawBody }) => rawBody.length)).toEqual([bytes.length]);
          connection.socket.end();
        });

        it("asks the gateway to send again while it drains", async () => {
          const server = await openBehind(middleware);
          await server.receiver.drain();
          const connection = await server.connect();
          await connection.write(wireOf(await signed()));
          const [answer] = await connection.answers(1);
          expect(answer).toMatchObject({ status: 503 });
          expect(answer?.headers["retry-after"]).toMatch(/^[0-9]+$/);
          connection.socket.end();
        });
      });
    },
  );
}
