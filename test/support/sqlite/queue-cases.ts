import assert from "node:assert/strict";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { deferred } from "../deferred.js";
import type { SqliteHandle } from "./drivers.js";
import type { SqliteChecks } from "./folder.js";
import { committed, openLedger, openTransactions, writes } from "./transaction-cases.js";

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

/** Deliveries that arrive at the same time. */
export const queueChecks: SqliteChecks = {
  async "sqliteTransactions runs the deliveries of one handle one after the other"(folder) {
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
    const { effects, keys } = committed(folder);
    assert.deepEqual(keys, done.map((index) => `k${index}`).sort());
    assert.deepEqual(effects, done.flatMap((index) => [`a${index}`, `b${index}`]).sort());
  },

  async "sqliteTransactions answers a duplicate at once while the first delivery runs or waits"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
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

  async "sqliteTransactions runs a duplicate through another store of the handle after the first one failed"(
    folder,
  ) {
    const database = openLedger(folder);
    const [store, another] = [openTransactions({ database }), openTransactions({ database })];
    const held = heldWork();
    const first = store.process("k", held.work);
    await held.started;
    const duplicate = another.process("k", writes("duplicate"));
    await nextTurn();
    held.end.reject(new Error("failed"));
    await assert.rejects(first, /failed/);
    assert.deepEqual(await duplicate, { state: "processed" });
    assert.deepEqual(committed(folder), { effects: ["duplicate"], keys: ["k"] });
  },

  async "sqliteTransactions rejects a delivery that waits longer than waitTimeoutMs, and handles it later"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder), waitTimeoutMs: 80 });
    const held = heldWork();
    const first = store.process("k", held.work);
    await held.started;
    const late = store.process("late", writes("late"));
    await assert.rejects(late, { code: "wait_timeout" });
    held.end.resolve();
    await first;
    assert.deepEqual(committed(folder), { effects: ["held"], keys: ["k"] });
    assert.equal((await store.process("late", writes("late"))).state, "processed");
  },

  async "sqliteTransactions waits for another connection's lock without blocking the process"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
    const other = folder.open();
    other.exec("BEGIN IMMEDIATE");
    const run = store.process("k", writes("a"));
    const startedAt = performance.now();
    await wait(100);
    assert.ok(performance.now() - startedAt < 1_000, "the process was stopped");
    other.exec("COMMIT");
    assert.equal((await run).state, "processed");
  },

  async "sqliteTransactions finds a key completed that another connection committed"(folder) {
    const here = openTransactions({ database: openLedger(folder) });
    const there = openTransactions({ database: openLedger(folder) });
    const held = heldWork();
    const first = here.process("k", held.work);
    await held.started;
    const duplicate = there.process("k", () => assert.fail("the duplicate ran"));
    await nextTurn();
    held.end.resolve();
    assert.deepEqual(await Promise.all([first, duplicate]), [
      { state: "processed" },
      { state: "completed" },
    ]);
  },

  async "sqliteTransactions rejects with SQLITE_BUSY if another connection's transaction takes too long"(
    folder,
  ) {
    const here = openTransactions({ database: openLedger(folder) });
    const there = openTransactions({ database: openLedger(folder), waitTimeoutMs: 60 });
    const held = heldWork();
    const first = here.process("k", held.work);
    await held.started;
    await assert.rejects(there.process("k", writes("b")), /database is locked/);
    held.end.resolve();
    await first;
    assert.deepEqual(await there.process("k", writes("b")), { state: "completed" });
    assert.deepEqual(committed(folder).effects, ["held"]);
  },

  async "sqliteTransactions runs a key once if two connections process it at the same time"(
    folder,
  ) {
    const clients = [openLedger(folder), openLedger(folder)].map((database) =>
      openTransactions({ database }),
    );
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
    const runs = keys.flatMap((key) => clients.map((client) => client.process(key, writes(key))));
    const states = (await Promise.all(runs)).map(({ state }) => state);
    assert.equal(states.filter((state) => state === "processed").length, keys.length);
    assert.deepEqual(committed(folder), { effects: [...keys].sort(), keys: [...keys].sort() });
  },

  async "sqliteTransactions respects leases and completions of sqliteStore in the same table"(
    folder,
  ) {
    const times = { leaseMs: 1_500, retentionMs: 3_600_000 };
    const store = sqliteStore({ database: folder.open() });
    const transactions = openTransactions({ database: openLedger(folder) });
    await store.claim("held", "a", times);
    await store.complete("done", "a", times);
    const held = await transactions.process("held", writes("x"));
    assert.ok(held.state === "in_flight" && held.retryAfterMs > 0 && held.retryAfterMs <= 1_500);
    const done = await transactions.process("done", writes("x"));
    assert.equal(done.state, "completed");
    await wait(1_600);
    const takeovers: unknown[] = [];
    const takenOver = await transactions.process("held", async (tx, facts) => {
      takeovers.push(facts?.takeover);
      await writes("a")(tx);
    });
    assert.equal(takenOver.state, "processed");
    await transactions.process("new", async (_tx, facts) => {
      takeovers.push(facts?.takeover);
      await nextTurn();
    });
    assert.deepEqual(takeovers, [true, false]);
    assert.equal((await store.claim("held", "b", times)).state, "completed");
    assert.equal(await store.renew("held", "a", { leaseMs: 300 }), false);
  },
};
