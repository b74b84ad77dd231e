import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { createRandom } from "../../../kit/random.js";
import { isPromise } from "../../../src/common/promises.js";
import type { DeliveryStore } from "../../../src/index.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { observedAlarmReceiver } from "../alarm-receiver.js";
import { delivery } from "../deliveries.js";
import { rowsOf, valueOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";
import { openLedger, openTransactions, writes } from "./transaction-cases.js";
import { CLAIMED, TIMES } from "../stores/store-cases.js";

const KEYS = 3_000;
const LONG_MS = 3_600_000;

/** Lets the retention of `KEYS` completed keys end, completes as many others, and counts the first. */
async function leftOver(folder: SqliteFolder, keyAt: (index: number) => string): Promise<number> {
  const database = folder.open();
  const store = sqliteStore({ database });
  // Faster: the same rows, without waiting for the disk.
  database.exec("PRAGMA synchronous = OFF");
  const complete = async (from: number) => {
    for (let index = from; index < from + KEYS; index++) {
      await store.claim(keyAt(index), "a", { leaseMs: 1_000, retentionMs: LONG_MS });
      await store.complete(keyAt(index), "a", { retentionMs: LONG_MS });
    }
  };
  await complete(0);
  database.exec("UPDATE gateway_deliveries SET forget_at = 1");
  await complete(KEYS);
  assert.equal(count(database, "forget_at > 1"), KEYS, "a key within its retention was forgotten");
  return count(database, "forget_at = 1");
}

function count(database: SqliteHandle, where: string): number {
  return Number(valueOf(database, `SELECT count(*) FROM gateway_deliveries WHERE ${where}`));
}

function idsOfKinds(): Readonly<Record<string, (index: number) => string>> {
  const random = createRandom(1);
  const word = () =>
    random
      .below(2 ** 32)
      .toString(16)
      .padStart(8, "0");
  const words = Array.from({ length: 2 * KEYS }, () => word() + word());
  return {
    random: (index) => words[index] ?? "",
    ascending: (index) => String(index).padStart(12, "0"),
    numbered: (index) => `delivery-${index}`,
  };
}

/** A look at the file that finds it gone. */
const LOST = ["store_unavailable", "file_lost"];
const HANDLED = ["handled", undefined];

/** A receiver on each store, with what `send` got and what was logged as an error. */
async function withReceivers(
  { open }: SqliteFolder,
  use: (receiver: {
    readonly send: (id: string) => Promise<unknown[]>;
    readonly wait: (ms: number) => void;
    readonly errorLines: () => number;
  }) => Promise<void>,
): Promise<void> {
  const real = performance.now.bind(performance);
  let waitedMs = 0;
  performance.now = () => real() + waitedMs;
  const wait = (ms: number) => void (waitedMs += ms);
  try {
    for (const makeStore of [sqliteStore, sqliteTransactions]) {
      const store = makeStore({ database: open() }) as DeliveryStore;
      const { receiver, lines, reports } = observedAlarmReceiver(() => undefined, { store });
      const send = async (id: string): Promise<unknown[]> => {
        const { outcome } = await receiver.receive(await delivery({ id }));
        const error = reports.at(-1)?.error as { readonly code?: string } | undefined;
        return [outcome, error?.code];
      };
      const errorLines = () => lines.filter(({ level }) => level === "error").length;
      await use({ send, wait, errorLines });
    }
  } finally {
    performance.now = real;
  }
}

/** What a receiver does when the file of its store is deleted, replaced or moved. */
export const lostFileChecks: SqliteChecks = {
  async "a receiver answers store_unavailable after its SQLite file was deleted"(folder) {
    await withReceivers(folder, async ({ send, wait, errorLines }) => {
      assert.deepEqual(await send("a"), HANDLED);
      rmSync(folder.file);
      wait(60_000);
      for (const id of ["a", "b", "c"]) assert.deepEqual(await send(id), LOST);
      assert.equal(errorLines(), 1);
    });
  },

  async "a receiver answers store_unavailable after its SQLite file was emptied or replaced"(
    folder,
  ) {
    const replace = () => {
      copyFileSync(folder.file, `${folder.file}.copy`);
      renameSync(`${folder.file}.copy`, folder.file);
    };
    const empty = () => truncateSync(folder.file);
    for (const damage of [replace, empty]) {
      await withReceivers(folder, async ({ send, wait }) => {
        assert.deepEqual(await send(crypto.randomUUID()), HANDLED);
        damage();
        wait(60_000);
        assert.deepEqual(await send("b"), LOST);
        for (const end of ["", "-wal", "-shm"]) rmSync(folder.file + end);
      });
    }
  },

  async "a receiver goes on when its SQLite file was moved away and back"(folder) {
    await withReceivers(folder, async ({ send, wait }) => {
      const ids = [crypto.randomUUID(), crypto.randomUUID()] as const;
      assert.deepEqual(await send(ids[0]), HANDLED);
      renameSync(folder.file, `${folder.file}.away`);
      wait(60_000);
      assert.deepEqual(await send(ids[1]), LOST);
      renameSync(`${folder.file}.away`, folder.file);
      assert.deepEqual(await send(ids[1]), HANDLED);
      assert.deepEqual(await send(ids[0]), ["duplicate", undefined]);
    });
  },
};

/** What the SQLite stores do beyond the cases of every store, and when something happens to their file. */
export const storeChecks: SqliteChecks = {
  "sqliteStore sets WAL and synchronous=FULL, and keeps busy_timeout"({ open }) {
    const database = open();
    database.exec("PRAGMA busy_timeout = 1234");
    const store = sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA busy_timeout"), 1234);
    void store.claim("k", "a", TIMES);
    void store.complete("k", "a", { retentionMs: 1000 });
    assert.equal(valueOf(database, "PRAGMA journal_mode"), "wal");
    assert.equal(valueOf(database, "PRAGMA synchronous"), 2);
    assert.equal(valueOf(database, "PRAGMA busy_timeout"), 1234);
  },

  "sqliteStore keeps synchronous=EXTRA"({ open }) {
    const database = open();
    database.exec("PRAGMA synchronous = EXTRA");
    sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA synchronous"), 3);
  },

  "sqliteStore returns values, not promises, for a lone delivery"({ open }) {
    const store = sqliteStore({ database: open() });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
    assert.equal(store.release("k", "a"), undefined);
    assert.equal(store.complete("k", "a", { retentionMs: 1000 }), undefined);
  },

  async "sqliteStore rejects with SQLITE_BUSY after waitTimeoutMs"({ open }) {
    const store = sqliteStore({ database: open(), waitTimeoutMs: 60 });
    const other = open();
    other.exec("BEGIN IMMEDIATE");
    const startedAt = performance.now();
    for (const method of ["claim", "complete"] as const) {
      await assert.rejects(async () => store[method]("k", "a", TIMES), /database is locked/);
    }
    assert.ok(performance.now() - startedAt >= 110);
    other.exec("COMMIT");
    assert.deepEqual(rowsOf(other, "SELECT * FROM gateway_deliveries"), []);
  },

  "sqliteStore throws at once if waitTimeoutMs is 0"({ open }) {
    const store = sqliteStore({ database: open(), waitTimeoutMs: 0 });
    open().exec("BEGIN IMMEDIATE");
    const claiming = () => store.claim("k", "a", TIMES);
    assert.throws(() => assert.ok(!isPromise(claiming())), /database is locked/);
  },

  "sqliteStore refuses to write in the application's transaction"({ open }) {
    const database = open();
    const store = sqliteStore({ database });
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    database.exec("BEGIN");
    const own = { code: "handle_in_transaction", message: /a handle of its own/ };
    for (const method of ["claim", "renew", "complete", "release"] as const) {
      assert.throws(() => void store[method]("k", "a", TIMES), own);
    }
    database.exec("ROLLBACK");
    assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
    assert.equal(store.renew("k", "a", { leaseMs: 1000 }), true);
  },

  "sqliteStore keeps tables apart, whatever their names"({ open }) {
    const database = open();
    for (const table of ["order", "_", "T1", "a".repeat(64)]) {
      const store = sqliteStore({ database, table });
      assert.deepEqual(store.claim("k", "a", TIMES), CLAIMED);
      assert.equal(valueOf(database, `SELECT count(*) FROM "${table}"`), 1);
    }
  },

  async "the SQLite stores wait for a lock without blocking the process"(folder) {
    const store = sqliteStore({ database: folder.open() });
    const transactions = openTransactions({ database: openLedger(folder) });
    const other = folder.open();
    other.exec("BEGIN IMMEDIATE");
    const claiming = store.claim("k", "a", TIMES);
    assert.ok(isPromise(claiming));
    const run = transactions.process("t", writes("a"));
    const startedAt = performance.now();
    await wait(100);
    assert.ok(performance.now() - startedAt < 1_000, "the process was stopped");
    other.exec("COMMIT");
    assert.deepEqual(await claiming, CLAIMED);
    assert.deepEqual(await run, { state: "processed" });
  },

  ...Object.fromEntries(
    Object.entries(idsOfKinds()).map(([kind, idAt]): [string, SqliteChecks[string]] => [
      `sqliteStore deletes rows past their retention while ${kind} ids complete`,
      async (folder) => {
        const left = await leftOver(folder, idAt);
        assert.ok(left <= (kind === "ascending" ? 0 : KEYS / 100), `${left} are left`);
      },
    ]),
  ),

  ...lostFileChecks,

  async "the -wal file is small again some deliveries after a long reader"(folder) {
    const [reader, writer] = [folder.open(), folder.open()];
    await withReceivers(folder, async ({ send }) => {
      writer.exec("CREATE TABLE IF NOT EXISTS pages (page BLOB)");
      reader.exec("BEGIN");
      valueOf(reader, "SELECT count(*) FROM pages");
      writer.exec("INSERT INTO pages VALUES (zeroblob(20000000))");
      reader.exec("COMMIT");
      for (let i = 0; i < 3; i += 1) await send(crypto.randomUUID());
      assert.ok(statSync(`${folder.file}-wal`).size <= 2 ** 23);
    });
  },

  "the SQLite stores keep the handle's journal_size_limit"({ open }) {
    const database = open();
    database.exec("PRAGMA journal_size_limit = 1000");
    sqliteStore({ database });
    assert.equal(valueOf(database, "PRAGMA journal_size_limit"), 1000);
  },
};
