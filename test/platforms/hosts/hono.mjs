import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { honoHandler } from "identity-gateway-webhooks/hono";
import { receiver } from "./receiver.mjs";

const app = new Hono();
app.all("/webhooks/gateway", honoHandler(receiver));
serve({ fetch: app.fetch, port: process.env.PORT ?? 3000 });
