// A receiver on a database file with 16 deliveries in flight for a time, which begins with a line of input. Prints the
// count of each outcome. Arguments: driver, file, kind of store, milliseconds.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver } from "../../../src/index.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { sampleAlarm } from "../../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { sqliteDriver } from "./drivers.js";

const [, , driverName = "", file = "", kind = "", loadMs] = process.argv;
const database = (await sqliteDriver(driverName)).open(file);
const input = createInterface({ input: process.stdin });

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const options = {
  secret: TEST_SECRET,
  logger: false,
  handlers: { new_alarm: () => wait(0) },
} as const;
const receiver =
  kind === "transactions"
    ? createWebhookReceiver({ ...options, store: sqliteTransactions({ database }) })
    : createWebhookReceiver({ ...options, store: sqliteStore({ database }) });
say("ready");
await once(input, "line");
const counts: Record<string, number> = {};
const endsAt = performance.now() + Number(loadMs);
const deliver = async () => {
  while (performance.now() < endsAt) {
    const delivery = { id: randomUUID(), alarm: sampleAlarm(), secret: TEST_SECRET };
    const { outcome } = await receiver.receive(await signedDelivery(delivery));
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
};
await Promise.all(Array.from({ length: 16 }, deliver));
say(JSON.stringify(counts));
input.close();
