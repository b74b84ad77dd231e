import { H3, serve } from "h3";
import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

const handle = fetchHandler(receiver);
const app = new H3();
app.all("/webhooks/gateway", (event) => handle(event.req));
serve(app, { port: process.env.PORT ?? 3000 });
