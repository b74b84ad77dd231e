// A process that works on a database file until a line arrives or it is killed. Arguments: driver, file,
// work, argument. Prints a line for each acknowledged call.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver } from "../../../src/index.js";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { createRandom } from "../../../kit/random.js";
import { sampleAlarm } from "../../../kit/samples/sample-alarm.js";
import { signedDelivery, TEST_SECRET } from "../../../kit/signed-delivery.js";
import { sqliteDriver, type SqliteHandle } from "./drivers.js";

const [, , driverName = "", file = "", work = "", argument = "", ...more] = process.argv;
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

/** A handle with a table that handlers write to. */
function openLedger(): SqliteHandle {
  const database = driver.open(file);
  database.exec("PRAGMA busy_timeout = 30000");
  database.exec("CREATE TABLE IF NOT EXISTS effects (key TEXT, part INTEGER)");
  return database;
}

async function completeKeys(store: DeliveryStore, prefix: string): Promise<void> {
  for (let index = 0; ; index++) {
    const key = `${prefix}-${index}`;
    await store.claim(key, owner, { leaseMs: HOUR_MS, retentionMs: HOUR_MS });
    await store.complete(key, owner, { retentionMs: HOUR_MS });
    say(key);
  }
}

const random = createRandom(process.pid);

const works: Record<string, () => Promise<void>> = {
  /** Opens the store at the same time as other processes. */
  async open() {
    await startTogether();
    const store = sqliteStore({ database: driver.open(file) });
    await store.complete(owner, owner, { retentionMs: HOUR_MS });
    say("opened");
  },

  /** Claims `argument` keys in an order of its own, and prints the keys that it claimed. */
  async race() {
    const store = sqliteStore({ database: driver.open(file), waitTimeoutMs: 30_000 });
    const keys = Array.from({ length: Number(argument) }, (_, index) => `key-${index}`);
    const order = keys.map((key) => ({ key, at: random.below(2 ** 32) }));
    order.sort((a, b) => a.at - b.at);
    await startTogether();
    const won: string[] = [];
    for (const { key } of order) {
      const { state } = await store.claim(key, owner, { leaseMs: HOUR_MS, retentionMs: HOUR_MS });
      if (state === "claimed") won.push(key);
    }
    say(JSON.stringify(won));
  },

  /** Claims and completes 16 keys at a time until it is killed. */
  async complete() {
    const store = sqliteStore({ database: driver.open(file), waitTimeoutMs: 30_000 });
    await Promise.all(
      Array.from({ length: 16 }, (_, index) => completeKeys(store, `${owner}-${index}`)),
    );
  },

  /** Writes two effects in the transaction of each key, until it is killed. */
  async transact() {
    const database = openLedger();
    const store = sqliteTransactions({ database, waitTimeoutMs: 30_000 });
    const insert = database.prepare("INSERT INTO effects VALUES (?, ?)");
    for (let index = 0; ; index++) {
      const key = `${owner}-${index}`;
      await store.process(
        key,
        async () => {
          insert.run(key, 1);
          await nextTurn();
          insert.run(key, 2);
        },
        { retentionMs: HOUR_MS },
      );
      say(key);
    }
  },

  /** A receiver with 16 deliveries in flight for a time. Prints the count of each outcome. */
  async load() {
    const [kind, loadMs, handlerMs] = [argument, ...more];
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
