// Compiled, never run: each handler fits the place where its framework takes one.
import http from "node:http";
import http2 from "node:http2";
import express from "express";
import { Hono } from "hono";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { honoHandler } from "identity-gateway-webhooks/hono";
import { nodeHandler } from "identity-gateway-webhooks/node";

const receiver = createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined } });

express().post("/webhooks/gateway", expressHandler(receiver));
express.Router().use(expressHandler(receiver));
new Hono().post("/webhooks/gateway", honoHandler(receiver));
new Hono<{ Bindings: { SECRET: string } }>().all("/webhooks/gateway", honoHandler(receiver));
http.createServer(nodeHandler(receiver));
// The linter takes it for a listener that returns nothing, and hosts await it.
http.createServer().on("request", nodeHandler(receiver));
export const awaited = async (...exchange: Parameters<http.RequestListener>): Promise<void> => {
  await nodeHandler(receiver)(...exchange);
};
http2.createServer(nodeHandler(receiver));
http2.createSecureServer({ allowHTTP1: true }, nodeHandler(receiver));
export default { fetch: fetchHandler(receiver) };
