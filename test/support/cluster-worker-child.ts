// Forks one worker of node:cluster that makes a receiver without a store. Prints its warnings.
import cluster from "node:cluster";
import { createWebhookReceiver } from "../../src/index.js";

if (cluster.isPrimary) {
  cluster.fork();
} else {
  createWebhookReceiver({
    secret: "a secret of the cluster",
    handlers: { new_alarm: () => undefined },
    logger: { warn: (line) => process.stdout.write(`${line}\n`), error: () => undefined },
  });
  process.disconnect();
}
