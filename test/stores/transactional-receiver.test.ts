import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite, { type Database } from "libsql";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRandom } from "../../kit/random.js";
import {
  type DeliveryContext,
  DiscardDelivery,
  RetryLater,
  type TransactionalStore,
} from "../../src/index.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

/** A minimal transactional store: one connection, one transaction at a time, no purge. */
function smallSqliteTransactions(database: Database): TransactionalStore<Database> {
  database.exec("CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY, until REAL NOT NULL)");
  let before: Promise<unknown> = Promise.resolve();

  return {
    async process(key, work, { retentionMs }) {
      const transact = async () => {
        database.exec("BEGIN IMMEDIATE");
        try {
          const { changes } = database
            .prepare("INSERT OR IGNORE INTO handled VALUES (?, ?)")
            .run(key, Date.now() + retentionMs);
          if (changes > 0) await work(database);
          database.exec("COMMIT");
          return { state: changes > 0 ? ("processed" as const) : ("completed" as const) };
        } catch (error) {
          if (database.inTransaction) database.exec("ROLLBACK");
          throw error;
        }
      };
      const done = before.then(transact);
      before = done.catch(() => undefined);
      return done;
    },
  };
}

let folder: string;
const open: Database[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "transactional-receiver-"));
});

afterEach(() => {
  for (const database of open.splice(0)) database.close();
  rmSync(folder, { recursive: true });
});

/** Opens one more connection to the database of the test. */
function connect(): Database {
  const database = new Sqlite(join(folder, "partner.db"), { timeout: 0 });
  database.exec("CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)");
  open.push(database);
  return database;
}

function writesEffect({ id, tx }: DeliveryContext<Database>): void {
  tx.prepare("INSERT INTO effects VALUES (?)").run(id);
}

function effectsIn(database: Database): unknown[] {
  return database.prepare("SELECT id FROM effects ORDER BY id").pluck().all();
}

it("a transactional receiver commits the handler's writes together with the delivery id", async () => {
  const database = connect();
  const { receive } = transactionalReceiver(smallSqliteTransactions(database), writesEffect);
  const request = await delivery({ id: "one" });
  expect(await receive(request)).toMatchObject({ status: 200, outcome: "handled" });
  expect(await receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  const other = connect();
  const restarted = transactionalReceiver(smallSqliteTransactions(other), writesEffect);
  expect(await restarted.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(effectsIn(other)).toEqual(["one"]);
});

it("a transactional receiver rolls both back if COMMIT fails on an error of the handler", async () => {
  const database = connect();
  database.pragma("foreign_keys = ON");
  database.exec(
    `CREATE TABLE accounts (id INTEGER PRIMARY KEY);
       CREATE TABLE alarms (account INTEGER REFERENCES accounts DEFERRABLE INITIALLY DEFERRED)`,
  );
  let isBroken = true;
  const { receive } = transactionalReceiver(smallSqliteTransactions(database), (context) => {
    writesEffect(context);
    // There is no such account, which the database checks at COMMIT.
    if (isBroken) context.tx.exec("INSERT INTO alarms VALUES (1)");
  });
  const request = await delivery({ id: "one" });
  expect(await receive(request)).toMatchObject({ status: 503, outcome: "store_unavailable" });
  expect(effectsIn(database)).toEqual([]);
  isBroken = false;
  expect(await receive(request)).toMatchObject({ status: 200, outcome: "handled" });
  expect(effectsIn(database)).toEqual(["one"]);
});

it("a transactional receiver has one effect of each delivery, despite failures and two processes", async () => {
  const { pick } = createRandom(5);
  const endings = [
    throwing(new Error("the handler fails")),
    throwing(new RetryLater()),
    () => undefined,
    () => Promise.resolve(),
    () => new Promise<void>((resolve) => setImmediate(resolve)),
  ];
  const handler = (context: DeliveryContext<Database>) => {
    writesEffect(context);
    if (context.id.startsWith("closed")) throw new DiscardDelivery();
    return pick(endings)();
  };
  const receivers = [connect(), connect()].map((database) =>
    transactionalReceiver(smallSqliteTransactions(database), handler),
  );
  const ids = Array.from({ length: 60 }, (_, n) => `${n % 6 === 0 ? "closed" : "open"}-${n}`);
  const seen = new Set<string>();

  const deliverUntilAcknowledged = async (id: string, first: number): Promise<void> => {
    const request = await delivery({ id });
    for (let attempt = first; attempt < 10_000; attempt++) {
      const response = await receivers[attempt % 2]?.receive(request);
      if (response !== undefined) seen.add(response.outcome);
      if (response?.status === 200) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`${id} is never acknowledged`);
  };
  // Three redeliveries of each.
  await Promise.all(
    [0, 1, 2].flatMap((first) => ids.map((id) => deliverUntilAcknowledged(id, first))),
  );

  expect(effectsIn(connect())).toEqual(ids.filter((id) => id.startsWith("open")).sort());
  expect([...seen].sort()).toEqual([
    "discarded",
    "duplicate",
    "handled",
    "handler_failed",
    "in_flight",
    "retry_later",
    "store_unavailable",
  ]);
});
