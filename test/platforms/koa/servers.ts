import http, { type RequestListener } from "node:http";
import http2 from "node:http2";
import type { Server } from "node:net";
import type { BodyOptions } from "../../../adapters/http/body-limits.js";
import { koaHandler } from "../../../adapters/koa.js";
import type { WebhookReceiver } from "../../../src/receiver.js";
import { testCertificate } from "../../support/servers.js";
import { Koa2, Koa3 } from "./koa.mjs";

/** Makes a server with the receiver on every path. */
type MakeServer = (receiver: WebhookReceiver, options?: BodyOptions) => Server;

const made =
  (Koa: typeof Koa3, createServer: (listener: RequestListener) => Server): MakeServer =>
  (receiver, options) => {
    const listener = new Koa().use(koaHandler(receiver, options)).callback();
    return createServer((req, res) => void listener(req, res));
  };

export const koa2Server = made(Koa2, http.createServer);
export const koa3Server = made(Koa3, http.createServer);
export const koa3OverHttp2 = made(Koa3, (listener) =>
  // The types of Koa know only HTTP/1.
  http2.createSecureServer(testCertificate(), listener as never),
);
