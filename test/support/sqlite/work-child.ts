// A process that works on a database file until a line arrives or it is killed. Arguments: driver, file,
// work, argument. Prints a line for each acknowledged call.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { createRandom } from "../../../kit/random.js";
import { sqliteDriver, type SqliteHandle } from "./drivers.js";

const [, , driverName = "", file = "", work = "", argument = ""] = process.argv;
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

  /** Holds a lease of `argument` milliseconds until it is killed. */
  async hold() {
    const store = sqliteStore({ database: driver.open(file) });
    await store.claim("held", owner, { leaseMs: Number(argument), retentionMs: HOUR_MS });
    say("held");
    await once(input, "line");
  },

  /** Claims and completes one key after the other until it is killed. */
  async complete() {
    await completeKeys(sqliteStore({ database: driver.open(file), waitTimeoutMs: 30_000 }), owner);
  },

  /** Claims and completes 16 keys at a time until it is killed. */
  async completeTogether() {
    const store = sqliteStore({ database: driver.open(file), waitTimeoutMs: 30_000 });
    await Promise.all(
      Array.from({ length: 16 }, (_, index) => completeKeys(store, `${owner}-${index}`)),
    );
  },

  /** Claims keys until the file can grow no more, and prints how many it claimed. */
  async fill() {
    const store = sqliteStore({ database: driver.open(file) });
    const claimed: string[] = [];
    let refused = 0;
    for (let index = 0; index < 400; index++) {
      try {
        await store.claim(`key-${index}`, owner, { leaseMs: HOUR_MS, retentionMs: HOUR_MS });
        claimed.push(`key-${index}`);
      } catch {
        refused += 1;
      }
    }
    say(JSON.stringify({ claimed, refused }));
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

  /** Writes in a transaction and waits there. */
  async halfway() {
    const database = openLedger();
    await sqliteTransactions({ database }).process(
      "half",
      async (tx) => {
        tx.exec("INSERT INTO effects VALUES ('half', 1)");
        say("written");
        await once(input, "line");
      },
      { retentionMs: HOUR_MS },
    );
  },
};

await works[work]?.();
input.close();
