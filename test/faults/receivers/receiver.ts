// One of the four receivers. ../harness/fleet.ts starts and kills it. It prints its port. Its handlers stop failing
// when a line arrives on standard input; with "jump", its clock jumps by so many milliseconds instead.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { WebhookReceiver } from "identity-gateway-webhooks";
import { listenerOf } from "./listener.js";
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

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [, ms] = /^jump (.+)$/.exec(line) ?? [];
    if (ms === undefined) work.heal();
    else shiftClock(Number(ms));
  })
  // The parent process is gone.
  .on("close", () => process.exit());

const receiver = await makeReceiver(config, ledger, work);
const server = createServer(await listenerOf(receiver, config));
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
    case "inbox-nats":
    case "inbox-rabbitmq":
      return (await import("./inbox-receiver.js")).inboxReceiver(...parts);
  }
}
