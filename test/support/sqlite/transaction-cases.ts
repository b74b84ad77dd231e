import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  sqliteTransactions,
  type SqliteDatabase,
  type SqliteOptions,
} from "../../../src/stores/sqlite/index.js";
import { deferred } from "../deferred.js";
import { rowsOf, type SqliteHandle } from "./drivers.js";
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

/** The same on a handle with the table of effects. */
function transactionsOn(folder: SqliteFolder, options: Omit<SqliteOptions, "database"> = {}) {
  return openTransactions({ database: openLedger(folder), ...options });
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

/** Expects that these effects and keys are committed, and no others. */
function expectCommitted(folder: SqliteFolder, effects: unknown[] = [], keys: unknown[] = []) {
  assert.deepEqual(committed(folder), { effects, keys });
}

/** Work that runs until `end` is called. */
function heldWork() {
  const started = deferred();
  const end = deferred();
  return {
    started: started.promise,
    end,
    work: async (tx: SqliteHandle) => {
      await writes("held")(tx);
      started.resolve();
      await end.promise;
    },
  };
}

const LATE = { code: "transaction_misuse", message: /after (?:the|its) handler had settled/ };

/** Work that keeps tx and its statements, and calls that use them after the work has ended. */
function keepingWork() {
  const uses: (() => unknown)[] = [];
  return {
    uses,
    work: async (tx: SqliteHandle) => {
      const late = "INSERT INTO effects (name) VALUES ('late')";
      const insert = tx.prepare(late);
      const select = tx.prepare("SELECT name FROM effects");
      uses.push(
        () => tx.exec(late),
        () => tx.prepare(late),
        () => insert.run(),
        () => select.get(),
        () => select.all(),
        () => select.iterate(),
      );
      const kept = tx.query?.("SELECT name FROM effects");
      const rows = kept?.[Symbol.iterator]();
      if (kept !== undefined) {
        uses.push(
          () => tx.query?.(late),
          () => kept.all(),
          () => [...kept],
          () => rows?.next(),
        );
      }
      await writes("kept")(tx);
    },
  };
}

/** What a transaction commits or rolls back together, how deliveries wait for it, and what a handler can do with tx. */
export const transactionChecks: SqliteChecks = {
  async "sqliteTransactions rolls back if COMMIT fails"(folder) {
    const store = transactionsOn(folder);
    const run = store.process("k", async (tx) => {
      // COMMIT checks this foreign key.
      tx.prepare("INSERT INTO effects VALUES ('a', 'no one')").run();
      await nextTurn();
    });
    await assert.rejects(run, /FOREIGN KEY constraint failed/);
    expectCommitted(folder);
    await store.process("k", writes("b"));
    expectCommitted(folder, ["b"], ["k"]);
  },

  async "sqliteTransactions runs deliveries of one handle one by one"(folder) {
    const database = openLedger(folder);
    // Two stores on one handle: a connection has one transaction.
    const [even, odd] = [openTransactions({ database }), openTransactions({ database })];
    let running = 0;
    const runs = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? even : odd).process(`k${index}`, async (tx) => {
        running += 1;
        await writes(`a${index}`, `b${index}`)(tx);
        assert.equal(running, 1);
        running -= 1;
        if (index % 3 === 0) throw new Error("failed");
      }),
    );
    const results = await Promise.allSettled(runs);
    const done = results.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
    assert.deepEqual(done, [1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19]);
    const effects = done.flatMap((index) => [`a${index}`, `b${index}`]);
    expectCommitted(folder, effects.sort(), done.map((index) => `k${index}`).sort());
  },

  async "sqliteTransactions answers a duplicate of a running or waiting delivery at once"(folder) {
    const store = transactionsOn(folder);
    await store.process("done", writes("done"));
    const held = heldWork();
    const first = store.process("k", held.work);
    await held.started;
    const waiting = store.process("waiting", writes("waiting"));
    const duplicates = ["k", "waiting", "done"].map((key) =>
      store.process(key, () => assert.fail("a duplicate ran")),
    );
    assert.deepEqual(await Promise.all(duplicates), [
      { state: "in_flight", retryAfterMs: 1_000 },
      { state: "in_flight", retryAfterMs: 1_000 },
      { state: "completed" },
    ]);
    held.end.resolve();
    assert.equal((await first).state, "processed");
    assert.equal((await waiting).state, "processed");
    assert.deepEqual(committed(folder).effects, ["done", "held", "waiting"]);
  },

  async "sqliteTransactions rejects a delivery that waits longer than waitTimeoutMs"(folder) {
    const store = transactionsOn(folder, { waitTimeoutMs: 80 });
    const held = heldWork();
    const first = store.process("k", held.work);
    await held.started;
    const late = store.process("late", writes("late"));
    await assert.rejects(late, { code: "wait_timeout" });
    held.end.resolve();
    await first;
    expectCommitted(folder, ["held"], ["k"]);
    assert.equal((await store.process("late", writes("late"))).state, "processed");
  },

  async "tx refuses calls of a handler that has settled"(folder) {
    const store = transactionsOn(folder);
    const { uses, work } = keepingWork();
    const failing = async (tx: SqliteHandle) => {
      await work(tx);
      throw new Error("failed");
    };
    await assert.rejects(store.process("k", failing), /failed/);
    for (const use of uses) assert.throws(use, LATE);
    expectCommitted(folder);
    await store.process("k", work);
    await store.process("next", async (tx) => {
      await writes("a")(tx);
      for (const use of uses) assert.throws(use, LATE);
      await writes("b")(tx);
    });
    expectCommitted(folder, ["a", "b", "kept"], ["k", "next"]);
  },

  async "an iterator of tx refuses more rows after its handler settled"(folder) {
    const store = transactionsOn(folder);
    await store.process("first", writes("a", "b", "c"));
    let rows: Iterator<unknown> | undefined;
    await store.process("k", async (tx) => {
      rows = tx.prepare("SELECT name FROM effects").iterate();
      rows.next();
      await nextTurn();
    });
    assert.throws(() => rows?.next(), LATE);
    // A `for` loop that is left late calls it.
    assert.deepEqual(rows?.return?.().done, true);
  },

  async "sqliteTransactions ends the transaction of a handler that left iterators open"(folder) {
    const store = transactionsOn(folder);
    await store.process("first", writes("a", "b", "c"));
    const leaving = async (tx: SqliteHandle) => {
      await writes("d")(tx);
      const select = tx.prepare("SELECT name FROM effects");
      // One that is open, one that has not begun, one that was ended and two that were read to the end.
      tx.prepare("SELECT name FROM effects").iterate().next();
      tx.prepare("SELECT key FROM gateway_deliveries").iterate();
      for (const row of tx.prepare("SELECT 1 UNION SELECT 2").iterate()) if (row !== null) break;
      assert.equal([...select.iterate()].length, 4);
      assert.equal([...select.iterate()].length, 4);
    };
    const failing = async (tx: SqliteHandle) => {
      await leaving(tx);
      throw new Error("failed");
    };
    await assert.rejects(store.process("k", failing), /failed/);
    expectCommitted(folder, ["a", "b", "c"], ["first"]);
    // Another process finds the lock free.
    folder.open().exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    assert.deepEqual(await store.process("k", leaving), { state: "processed" });
    folder.open().exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    await store.process("next", writes("e"));
    const effects = ["a", "b", "c", "d", "e"];
    expectCommitted(folder, effects, ["first", "k", "next"]);
  },

  async "sqliteTransactions writes after others although a handler left iterators open"(folder) {
    const store = transactionsOn(folder, { waitTimeoutMs: 1_000 });
    await store.process("first", writes("a", "b", "c"));
    // More rows than a driver reads ahead.
    const many =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT * FROM n, effects";
    const leavings: ((tx: SqliteHandle) => void)[] = [
      (tx) => tx.prepare(many).iterate().next(),
      (tx) => {
        for (const row of tx.prepare(many).iterate()) if (row !== null) break;
      },
    ];
    for (const [index, leave] of leavings.entries()) {
      const leaving = (tx: SqliteHandle) => {
        leave(tx);
        return Promise.resolve();
      };
      await store.process(`leaving ${index}`, leaving);
      folder.open().exec(`INSERT INTO effects (name) VALUES ('other ${index}')`);
      const next = store.process(`next ${index}`, writes(`d${index}`));
      assert.deepEqual(await next, { state: "processed" });
    }
  },

  async "tx does everything that the handle does"(folder) {
    const database = openLedger(folder);
    const store = openTransactions({ database });
    await store.process("k", async (tx) => {
      assert.ok(tx instanceof database.constructor);
      assert.equal(tx.constructor, database.constructor);
      const insert = tx.prepare("INSERT INTO effects (name) VALUES (?)");
      for (const name of ["a", "b", "c"]) assert.equal(insert.run(name).changes, 1);
      await nextTurn();
      const select = tx.prepare("SELECT name FROM effects ORDER BY name");
      // libsql adds a member of its own to the row.
      assert.equal((select.get() as { name: unknown }).name, "a");
      assert.equal(select.all().length, 3);
      const names: unknown[] = [];
      for (const row of select.iterate()) {
        names.push((row as { name: unknown }).name);
        if (names.length === 2) break;
      }
      assert.deepEqual(names, ["a", "b"]);
      assert.equal([...select.iterate()].length, 3);
      tx.exec("DELETE FROM effects WHERE name = 'c'");
    });
    expectCommitted(folder, ["a", "b"], ["k"]);
  },

  async "sqliteTransactions forgets a delivery whose handler ended the transaction"(folder) {
    const store = transactionsOn(folder);
    for (const sql of ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN IMMEDIATE"]) {
      const run = store.process("k", async (tx) => {
        tx.exec(sql);
        await nextTurn();
      });
      await assert.rejects(run, { code: "transaction_ended", message: /leave COMMIT/ });
      expectCommitted(folder);
    }
    assert.equal((await store.process("k", writes("a"))).state, "processed");
  },

  async "sqliteTransactions spares the application's transaction after a handler ended its own"(
    folder,
  ) {
    const database = openLedger(folder);
    const store = openTransactions({ database });
    const ended = store.process("k", async (tx) => {
      tx.exec("ROLLBACK");
      await nextTurn();
    });
    await assert.rejects(ended, { code: "transaction_ended" });
    database.exec("BEGIN; INSERT INTO effects (name) VALUES ('of the application')");
    const run = store.process("k", writes("a"));
    await assert.rejects(run, { code: "handle_in_transaction" });
    database.exec("COMMIT");
    expectCommitted(folder, ["of the application"], []);
  },

  async "sqliteTransactions recovers when an open iterator of the handle is ended"(folder) {
    const database = openLedger(folder);
    const store = openTransactions({ database });
    await store.process("first", writes("a", "b"));
    let iterator: Iterator<unknown> | undefined;
    const run = store.process("k", async (tx) => {
      await writes("c")(tx);
      iterator = database.prepare("SELECT name FROM effects").iterate();
      iterator.next();
    });
    // better-sqlite3 refuses both COMMIT and ROLLBACK; node:sqlite allows them.
    const state = await run.then(
      (result) => result.state,
      (error: unknown) => String(error),
    );
    assert.match(state, /^processed$|busy executing a query/);
    iterator?.return?.();
    await store.process("next", writes("d"));
    if (state === "processed")
      expectCommitted(folder, ["a", "b", "c", "d"], ["first", "k", "next"]);
    else expectCommitted(folder, ["a", "b", "d"], ["first", "next"]);
  },
};
