import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { honoHandler } from "identity-gateway-webhooks/hono";

export function mount(receiver, path) {
  const app = new Hono();
  app.all(path, honoHandler(receiver));
  return getRequestListener(app.fetch);
}
