import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

Bun.serve({ port: process.env.PORT ?? 3000, fetch: fetchHandler(receiver) });
