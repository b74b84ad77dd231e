import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

Deno.serve({ port: Number(Deno.env.get("PORT") ?? 3000) }, fetchHandler(receiver));
