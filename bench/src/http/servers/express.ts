import { createServer, type Server } from "node:http";
import express from "express";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { SECRET } from "../../deliveries.js";
import { createAsyncReceiverByHand } from "../../handwritten/full.js";
import { PATH, type Handle } from "../measured-server.js";

/** Ours on Express. */
export function oursOnExpress(handle: Handle): Server {
  const receiver = createWebhookReceiver({ secret: SECRET, handlers: { new_alarm: handle } });
  return createServer(express().post(PATH, expressHandler(receiver)));
}

/** The full receiver by hand on Express. */
export function byHandOnExpress(handle: Handle): Server {
  const receive = createAsyncReceiverByHand(SECRET, handle);
  const app = express();
  app.post(PATH, express.raw({ type: "application/json", limit: "1mb" }), async (req, res) => {
    const outcome = await receive(req.headers, req.body as Buffer);
    res.status(outcome === "refused" ? 401 : 200).json({ outcome });
  });
  return createServer(app);
}
