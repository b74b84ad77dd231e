import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SqliteHandle } from "./drivers.js";
import type { SqliteChecks } from "./folder.js";
import { committed, NOTHING, openLedger, openTransactions, writes } from "./transaction-cases.js";

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

/** What a handler can do with tx, and when. */
export const guardedHandleChecks: SqliteChecks = {
  async "tx refuses calls of a handler that has failed, so nothing of it stays"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
    const { uses, work } = keepingWork();
    const failing = async (tx: SqliteHandle) => {
      await work(tx);
      throw new Error("failed");
    };
    await assert.rejects(store.process("k", failing), /failed/);
    for (const use of uses) assert.throws(use, LATE);
    assert.deepEqual(committed(folder), NOTHING);
    await store.process("k", writes("a"));
    assert.deepEqual(committed(folder), { effects: ["a"], keys: ["k"] });
  },

  async "tx refuses calls of a handler that has succeeded, so they do not reach the next delivery"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
    const { uses, work } = keepingWork();
    await store.process("k", work);
    await store.process("next", async (tx) => {
      await writes("a")(tx);
      for (const use of uses) assert.throws(use, LATE);
      await writes("b")(tx);
    });
    assert.deepEqual(committed(folder), { effects: ["a", "b", "kept"], keys: ["k", "next"] });
  },

  async "an iterator of tx refuses more rows after its handler has settled"(folder) {
    const store = openTransactions({ database: openLedger(folder) });
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
    const store = openTransactions({ database: openLedger(folder) });
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
    assert.deepEqual(committed(folder), { effects: ["a", "b", "c"], keys: ["first"] });
    // Another process finds the lock free.
    folder.open().exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    assert.deepEqual(await store.process("k", leaving), { state: "processed" });
    folder.open().exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
    await store.process("next", writes("e"));
    const effects = ["a", "b", "c", "d", "e"];
    assert.deepEqual(committed(folder), { effects, keys: ["first", "k", "next"] });
  },

  async "sqliteTransactions writes after other connections although a handler left iterators open"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder), waitTimeoutMs: 1_000 });
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
      const leaving = (tx: SqliteHandle): Promise<void> => {
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
    assert.deepEqual(committed(folder), { effects: ["a", "b"], keys: ["k"] });
  },
};
