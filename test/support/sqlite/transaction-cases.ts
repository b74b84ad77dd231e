import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  sqliteTransactions,
  type SqliteDatabase,
  type SqliteOptions,
} from "../../../src/stores/sqlite/index.js";
import { deferred } from "../deferred.js";
import { rowsOf, valueOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";

export const RETENTION = { retentionMs: 3_600_000 };

/** A handle with a table that handlers write to. */
export function openLedger({ open }: SqliteFolder): SqliteHandle {
  const database = open();
  database.exec("PRAGMA foreign_keys = ON");
  database.exec(`CREATE TABLE IF NOT EXISTS effects (
    name TEXT PRIMARY KEY,
    account TEXT REFERENCES effects (name) DEFERRABLE INITIALLY DEFERRED)`);
  return database;
}

/** `sqliteTransactions`, whose `process` remembers deliveries for an hour. */
export function openTransactions<Tx extends SqliteDatabase>(options: SqliteOptions<Tx>) {
  const store = sqliteTransactions(options);
  type Work = Parameters<typeof store.process>[1];
  return { process: (key: string, work: Work) => store.process(key, work, RETENTION) };
}

/** Work that writes one row, awaits, and writes another. */
export function writes(...names: readonly string[]) {
  return async (tx: SqliteHandle): Promise<void> => {
    for (const name of names) {
      tx.prepare("INSERT INTO effects (name) VALUES (?)").run(name);
      await nextTurn();
    }
  };
}

/** What is committed, as another connection sees it. */
export function committed({ open }: SqliteFolder): { effects: unknown[]; keys: unknown[] } {
  const database = open();
  try {
    return {
      effects: rowsOf(database, "SELECT name FROM effects ORDER BY name").flat(),
      keys: rowsOf(database, "SELECT key FROM gateway_deliveries ORDER BY key").flat(),
    };
  } finally {
    database.close();
  }
}

export const NOTHING = { effects: [], keys: [] };

/** What a transaction commits or rolls back together. */
export const transactionChecks: SqliteChecks = {
  async "sqliteTransactions commits the handler's writes and the key together"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
    const midway = deferred();
    const run = store.process("k", async (tx) => {
      await writes("a")(tx);
      await midway.promise;
      await writes("b")(tx);
    });
    await nextTurn();
    await nextTurn();
    assert.deepEqual(committed(folder), NOTHING);
    midway.resolve();
    assert.deepEqual(await run, { state: "processed" });
    assert.deepEqual(committed(folder), { effects: ["a", "b"], keys: ["k"] });
    const again = await store.process("k", writes("c"));
    assert.deepEqual(again, { state: "completed" });
    assert.deepEqual(committed(folder), { effects: ["a", "b"], keys: ["k"] });
  },

  async "sqliteTransactions rolls back if the handler throws and rejects with the same error"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
    for (const thrown of [new Error("later"), "text", undefined] as unknown[]) {
      const run = store.process("k", async (tx) => {
        await writes("a", "b")(tx);
        await Promise.reject(thrown);
      });
      const error: unknown = await run.then(
        () => assert.fail("it resolved"),
        (reason: unknown) => reason,
      );
      assert.equal(error, thrown);
      assert.deepEqual(committed(folder), NOTHING);
    }
    await store.process("k", writes("a"));
    assert.deepEqual(committed(folder), { effects: ["a"], keys: ["k"] });
  },

  async "sqliteTransactions rolls back if a handler throws before it returns a promise"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
    const run = store.process("k", (tx) => {
      tx.prepare("INSERT INTO effects (name) VALUES ('a')").run();
      throw new Error("at once");
    });
    await assert.rejects(run, /at once/);
    assert.deepEqual(committed(folder), NOTHING);
  },

  async "sqliteTransactions rolls back if COMMIT fails"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
    const run = store.process("k", async (tx) => {
      // COMMIT checks this foreign key.
      tx.prepare("INSERT INTO effects VALUES ('a', 'no one')").run();
      await nextTurn();
    });
    await assert.rejects(run, /FOREIGN KEY constraint failed/);
    assert.deepEqual(committed(folder), NOTHING);
    await store.process("k", writes("b"));
    assert.deepEqual(committed(folder), { effects: ["b"], keys: ["k"] });
  },

  async "sqliteTransactions rolls back if the file is full"(folder) {
    const database = openLedger(folder);
    const store = openTransactions({ database });
    const full = Number(valueOf(database, "PRAGMA page_count"));
    database.exec(`PRAGMA max_page_count = ${full}`);
    const big = async (tx: SqliteHandle) => {
      await writes("a")(tx);
      tx.prepare("INSERT INTO effects (name) VALUES (?)").run("b".repeat(100_000));
    };
    await assert.rejects(store.process("k", big), /full/);
    assert.deepEqual(committed(folder), NOTHING);
    // Only the row of the key, which is written last, does not fit.
    let run = 0;
    await assert.rejects(async () => {
      for (; run < 1_000; run++) await store.process(`k${run}`, async () => nextTurn());
    }, /full/);
    assert.ok(run > 10);
    assert.equal(committed(folder).keys.length, run);
    database.exec("PRAGMA max_page_count = 1000000");
    assert.equal((await store.process("k", big)).state, "processed");
  },

  async "sqliteTransactions lets a handler use savepoints"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
    await store.process("k", async (tx) => {
      tx.exec("SAVEPOINT own");
      await writes("a")(tx);
      tx.exec("ROLLBACK TO own; RELEASE own");
      await writes("b")(tx);
    });
    assert.deepEqual(committed(folder), { effects: ["b"], keys: ["k"] });
  },
};
