import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { SqliteChecks } from "./folder.js";
import {
  committed,
  NOTHING,
  openLedger,
  openTransactions,
  RETENTION,
  writes,
} from "./transaction-cases.js";

/** How the stores react to a misused handle. */
export const misuseChecks: SqliteChecks = {
  async "sqliteTransactions does not remember a delivery whose handler ended the transaction"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
    for (const sql of ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN IMMEDIATE"]) {
      const run = store.process("k", async (tx) => {
        tx.exec(sql);
        await nextTurn();
      });
      await assert.rejects(run, { code: "transaction_ended", message: /leave COMMIT/ });
      assert.deepEqual(committed(folder), NOTHING);
    }
    assert.equal((await store.process("k", writes("a"))).state, "processed");
  },

  async "sqliteTransactions leaves the application's transaction alone after a handler ended its own"(
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
    assert.deepEqual(committed(folder), { effects: ["of the application"], keys: [] });
  },

  async "sqliteTransactions recovers when an open iterator of the handle itself is ended"(folder) {
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
    const { effects, keys } = committed(folder);
    const isCommitted = state === "processed";
    assert.deepEqual(effects, isCommitted ? ["a", "b", "c", "d"] : ["a", "b", "d"]);
    assert.deepEqual(keys, isCommitted ? ["first", "k", "next"] : ["first", "next"]);
  },

  "sqliteStore releases the lock if a key cannot be bound"({ open }) {
    const store = sqliteStore({ database: open() });
    const times = { leaseMs: 1_000, ...RETENTION };
    const wrongKey = Symbol() as unknown as string;
    assert.throws(() => void store.claim(wrongKey, "a", times), /bind|bound/i);
    open().exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
  },
};
