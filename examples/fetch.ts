// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/fetch.ts
import { serve } from "@hono/node-server";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      console.log(`${id}: ${event.type}`);
    },
  },
});

const handleWebhook = fetchHandler(receiver);

/** Pass the same function to `Deno.serve(fetch)`, or on Bun and workers `export default { fetch }`. */
function fetch(request: Request): Response | Promise<Response> {
  const { pathname } = new URL(request.url);
  return pathname === "/webhooks/gateway"
    ? handleWebhook(request)
    : new Response(null, { status: 404 });
}

// Node has no server for the Fetch API, so this example has one.
const server = serve({ fetch, port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});
