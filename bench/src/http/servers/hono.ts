import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { honoHandler } from "identity-gateway-webhooks/hono";
import { SECRET } from "../../deliveries.js";
import { createAsyncReceiverByHand } from "../../handwritten/full.js";
import { PATH, type Handle, type HttpServer } from "../measured-server.js";

/** Ours on Hono. */
export function oursOnHono(handle: Handle): HttpServer {
  const receiver = createWebhookReceiver({ secret: SECRET, handlers: { new_alarm: handle } });
  return createAdaptorServer(new Hono().post(PATH, honoHandler(receiver)));
}

/** The full receiver by hand on Hono. */
export function byHandOnHono(handle: Handle): HttpServer {
  const receive = createAsyncReceiverByHand(SECRET, handle);
  const app = new Hono();
  app.post(PATH, async (c) => {
    const headers = {
      "x-webhook-type": c.req.header("x-webhook-type"),
      "x-webhook-id": c.req.header("x-webhook-id"),
      "x-webhook-timestamp": c.req.header("x-webhook-timestamp"),
      "x-webhook-signature": c.req.header("x-webhook-signature"),
    };
    const outcome = await receive(headers, Buffer.from(await c.req.arrayBuffer()));
    return c.json({ outcome }, outcome === "refused" ? 401 : 200);
  });
  return createAdaptorServer(app);
}
