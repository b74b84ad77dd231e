// One of the four receivers. ../harness/fleet.ts starts and kills it. It prints its port, and its handlers stop
// failing when a line arrives on standard input.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { openLedger, watchStalls, type Ledger } from "./ledger.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { isProcessOff } from "./receiver-times.js";
import { shiftClock } from "./shift-clock.js";
import { createWork, type Work } from "./work.js";

const config = JSON.parse(process.argv[2] ?? "") as ReceiverConfig;
if (isProcessOff(config)) shiftClock(config.clockOffMs);
const ledger = openLedger(config.ledgerFile, config.receiver);
watchStalls(ledger, config.holdMs / 4);
const work = createWork(config, ledger);

process.stdin.on("data", () => {
  work.heal();
});
// The parent process is gone.
process.stdin.on("end", () => process.exit());

const handle = nodeHandler(await makeReceiver(config, ledger, work));
const server = createServer((req, res) => {
  handle(req, res);
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

/** Loads only what it needs: a run starts receivers more than a hundred times. */
async function makeReceiver(...parts: [ReceiverConfig, Ledger, Work]): Promise<WebhookReceiver> {
  switch (parts[0].setup) {
    case "lease-redis":
    case "lease-postgres":
    case "lease-mysql":
    case "lease-sqlite":
    case "lease-dynamodb":
      return (await import("./lease-receiver.js")).leaseReceiver(...parts);
    case "transactions-postgres":
    case "transactions-mysql":
    case "transactions-sqlite":
      return (await import("./transactions-receiver.js")).transactionsReceiver(...parts);
    case "inbox-pg-boss":
    case "inbox-bullmq":
      return (await import("./inbox-receiver.js")).inboxReceiver(...parts);
  }
}
