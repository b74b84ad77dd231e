// A receiver with 16 deliveries in flight at any time, as a process of its own. Arguments: driver, file,
// kind of store, milliseconds of load, milliseconds of each handler. Prints `ready` at the start and the
// count of each outcome at the end.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver } from "../../../src/index.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { sampleAlarm } from "../../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { sqliteDriver } from "./drivers.js";

const [, , driverName = "", file = "", kind = "", loadMs = "", handlerMs = ""] = process.argv;
const driver = await sqliteDriver(driverName);
const database = driver.open(file);
const counts: Record<string, number> = {};

const options = {
  secret: TEST_SECRET,
  logger: false,
  handlers: { new_alarm: () => wait(Number(handlerMs)) },
} as const;
const receiver =
  kind === "transactions"
    ? createWebhookReceiver({ ...options, store: sqliteTransactions({ database }) })
    : createWebhookReceiver({ ...options, store: sqliteStore({ database }) });

const input = createInterface({ input: process.stdin });
process.stdout.write("ready\n");
await once(input, "line");
const endsAt = performance.now() + Number(loadMs);

async function deliver(): Promise<void> {
  while (performance.now() < endsAt) {
    const id = randomUUID();
    const request = await signedDelivery({ id, alarm: sampleAlarm(), secret: TEST_SECRET });
    const { outcome } = await receiver.receive(request);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: 16 }, deliver));
process.stdout.write(`${JSON.stringify(counts)}\n`);
input.close();
