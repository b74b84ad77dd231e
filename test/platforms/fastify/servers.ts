import type { Server } from "node:net";
import { fastify4, fastify5 } from "./fastify.js";
import type { BodyOptions } from "../../../adapters/http/body-limits.js";
import { fastifyHandler, type FastifyHandler } from "../../../adapters/fastify.js";
import type { WebhookReceiver } from "../../../src/receiver.js";
import { testCertificate } from "../../support/servers.js";

/** Makes a server with the receiver at `/`. */
type MakeServer = (receiver: WebhookReceiver, options?: BodyOptions) => Promise<Server>;

interface App {
  register(plugin: FastifyHandler): unknown;
  ready(): PromiseLike<unknown>;
  readonly server: Server;
}

const made =
  (createApp: () => App): MakeServer =>
  async (receiver, options) => {
    const app = createApp();
    app.register(fastifyHandler(receiver, { path: "/", ...options }));
    await app.ready();
    return app.server;
  };

export const fastify4Server = made(() => fastify4());
export const fastify5Server = made(() => fastify5());
export const fastify4OverHttps = made(() => fastify4({ https: testCertificate() }));
export const fastify5OverHttp2 = made(() => fastify5({ http2: true, https: testCertificate() }));
export const fastify5OverClearHttp2 = made(() => fastify5({ http2: true }));
