// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/express.ts
import type { AddressInfo } from "node:net";
import express from "express";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: {
      DATA_REAPPEARED: (event, { id }) => {
        console.log(`${id}: data is back on site ${event.site_id}`);
      },
      "*": (event, { id }) => {
        console.log(`${id}: ${event.type}`);
      },
    },
  },
});

const app = express();
// Before any body parser: the signature covers the raw bytes.
app.all("/webhooks/gateway", expressHandler(receiver));
app.use(express.json());
app.get("/ready", (_req, res) => {
  res.sendStatus(receiver.health().draining ? 503 : 200);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});
