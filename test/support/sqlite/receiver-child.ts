// A receiver as a process of its own. Arguments: driver, file. Reads one delivery from each line, and
// prints a line when its handler starts and one for the answer. An alarm of account 0 never finishes.
import { createInterface } from "node:readline";
import { createWebhookReceiver } from "../../../src/index.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { type SignedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { sqliteDriver } from "./drivers.js";

const [, , driverName = "", file = ""] = process.argv;
const driver = await sqliteDriver(driverName);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const receiver = createWebhookReceiver({
  secret: TEST_SECRET,
  store: sqliteStore({ database: driver.open(file) }),
  leaseMs: 1_000,
  logger: false,
  handlers: {
    async new_alarm(alarm, { id, takeover }) {
      say(`runs ${id}${takeover ? ", a takeover" : ""}`);
      if (alarm.account_id === 0) await new Promise(() => undefined);
    },
  },
});

for await (const line of createInterface({ input: process.stdin })) {
  void receiver.receive(JSON.parse(line) as SignedDelivery).then(({ status, outcome }) => {
    say(`${status} ${outcome}`);
  });
}
