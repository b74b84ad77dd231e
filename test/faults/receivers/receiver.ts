// One of the four receivers. ../harness/fleet.ts starts and kills it. It prints its port. Its handlers stop failing
// when a line arrives on standard input; with "jump", its clock jumps by so many milliseconds instead. "replay" is for
// operator.ts.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { listenerOf } from "./listener.js";
import { openLedger, watchStalls } from "./ledger.js";
import type { ReceiverConfig } from "./receiver-config.js";
import { isProcessOff } from "./receiver-times.js";
import { shiftClock } from "./shift-clock.js";
import { createWork, type MakeReceiver } from "./work.js";

const config = JSON.parse(process.argv[2] ?? "") as ReceiverConfig;
if (isProcessOff(config)) shiftClock(config.clockOffMs);
const ledger = openLedger(config.ledgerFile, config.receiver);
watchStalls(ledger, config.holdMs / 4);
const work = createWork(config, ledger);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [, ms] = /^jump (.+)$/.exec(line) ?? [];
    if (ms !== undefined) shiftClock(Number(ms));
    else if (line === "heal") work.heal();
  })
  // The parent process is gone.
  .on("close", () => process.exit());

// Loads only what it needs: a run starts receivers more than a hundred times.
const setup = new URL(`setups/${config.setup}.js`, import.meta.url).href;
const { makeReceiver } = (await import(setup)) as { readonly makeReceiver: MakeReceiver };
const receiver = await makeReceiver(config, ledger, work);
const server = createServer(await listenerOf(receiver, config));
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
