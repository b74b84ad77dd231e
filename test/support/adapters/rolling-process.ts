// A receiver in a process of its own, stopped as in README's "Shutting down". Prints its port when it listens.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeHandler } from "../../../adapters/node.js";
import { createWebhookReceiver } from "../../../src/index.js";
import { TEST_SECRET } from "../deliveries.js";

const receiver = createWebhookReceiver({
  secret: TEST_SECRET,
  handlers: { new_alarm: () => sleep(20) },
  logger: false,
});
const server = http.createServer(nodeHandler(receiver));

process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});

server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${String((server.address() as AddressInfo).port)}\n`);
});
