import { node } from "@elysiajs/node";
import { Elysia } from "elysia";
import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

const handle = fetchHandler(receiver);
const app = new Elysia({ adapter: node() });
app.all("/webhooks/gateway", ({ request }) => handle(request), { parse: "none" });
app.listen(process.env.PORT ?? 3000);
