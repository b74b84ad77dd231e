// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/node.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";

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

const handleWebhook = nodeHandler(receiver);

const server = createServer((req, res) => {
  if (req.url === "/webhooks/gateway") handleWebhook(req, res);
  else if (req.url === "/ready") res.writeHead(receiver.health().draining ? 503 : 200).end();
  else res.writeHead(404).end();
});

server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});
