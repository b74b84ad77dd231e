// A process that works on a database file until a line arrives or it is killed. Arguments: driver, file,
// work, arguments.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver } from "../../../src/index.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { sampleAlarm } from "../../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { sqliteDriver } from "./drivers.js";

const [, , driverName = "", file = "", work = "", kind = "", loadMs, handlerMs] = process.argv;
const driver = await sqliteDriver(driverName);
const owner = `process-${process.pid}`;
const HOUR_MS = 3_600_000;
const input = createInterface({ input: process.stdin });

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function startTogether(): Promise<void> {
  say("ready");
  await once(input, "line");
}

const works: Record<string, () => Promise<void>> = {
  /** Opens the store at the same time as other processes. */
  async open() {
    await startTogether();
    const store = sqliteStore({ database: driver.open(file) });
    await store.complete(owner, owner, { retentionMs: HOUR_MS });
    say("opened");
  },

  /** A receiver with 16 deliveries in flight for a time. Prints the count of each outcome. */
  async load() {
    const database = driver.open(file);
    const options = {
      secret: TEST_SECRET,
      logger: false,
      handlers: { new_alarm: () => wait(Number(handlerMs)) },
    } as const;
    const receiver =
      kind === "transactions"
        ? createWebhookReceiver({ ...options, store: sqliteTransactions({ database }) })
        : createWebhookReceiver({ ...options, store: sqliteStore({ database }) });
    await startTogether();
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
  },
};

await works[work]?.();
input.close();
