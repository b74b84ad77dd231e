import assert from "node:assert/strict";
import { isPromise } from "../../../src/common/promises.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { deferred } from "../deferred.js";
import type { SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";
import { committed, openLedger, openTransactions, writes } from "./transaction-cases.js";

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

/** Locks the file by another connection. Returns a function that releases the lock. */
function lock({ open }: SqliteFolder): () => void {
  const other = open();
  other.exec("BEGIN IMMEDIATE");
  return () => {
    other.exec("COMMIT");
    other.close();
  };
}

/** Records the order in which waiting calls are served. */
class Order {
  private readonly served: string[] = [];
  private readonly calls: unknown[] = [];

  /** A call that counts as served when it is answered. */
  add(name: string, answer: unknown): void {
    assert.ok(isPromise(answer), `${name} did not wait`);
    this.calls.push(answer.then(() => this.served.push(name)));
  }

  /** The work of a transaction, which counts as served when it runs. */
  work(name: string): () => Promise<void> {
    return () => {
      this.served.push(name);
      return Promise.resolve();
    };
  }

  async names(): Promise<readonly string[]> {
    await Promise.all(this.calls);
    return this.served;
  }
}

/** Calls that wait for the lock of the file and for each other. */
export const waitingChecks: SqliteChecks = {
  async "waiting calls are served in their order, and claims after all others"(folder) {
    const store = sqliteStore({ database: folder.open() });
    for (const key of ["r", "s", "t"]) await store.claim(key, "o", TIMES);
    const unlock = lock(folder);
    const order = new Order();
    order.add("claim a", store.claim("a", "o", TIMES));
    order.add("claim b", store.claim("b", "o", TIMES));
    order.add("renew r", store.renew("r", "o", { leaseMs: 1_000 }));
    order.add("claim c", store.claim("c", "o", TIMES));
    order.add("complete s", store.complete("s", "o", { retentionMs: 1_000 }));
    order.add("release t", store.release("t", "o"));
    order.add("renew r again", store.renew("r", "o", { leaseMs: 1_000 }));
    unlock();
    assert.deepEqual(await order.names(), [
      "renew r",
      "complete s",
      "release t",
      "renew r again",
      "claim a",
      "claim b",
      "claim c",
    ]);
  },

  async "no new call overtakes waiting calls when the lock is free again"(folder) {
    const store = sqliteStore({ database: folder.open() });
    const unlock = lock(folder);
    const order = new Order();
    order.add("first", store.claim("a", "o", TIMES));
    unlock();
    order.add("second", store.claim("b", "o", TIMES));
    assert.deepEqual(await order.names(), ["first", "second"]);
  },

  async "all stores on a handle share one queue"(folder) {
    const database = openLedger(folder);
    const [first, second] = [sqliteStore({ database }), sqliteStore({ database, table: "second" })];
    const transactions = openTransactions({ database });
    await second.claim("held", "o", TIMES);
    const unlock = lock(folder);
    const order = new Order();
    order.add("claim of the second", second.claim("a", "o", TIMES));
    const run = transactions.process("k", order.work("transaction"));
    order.add("claim of the first", first.claim("a", "o", TIMES));
    order.add("renewal of the second", second.renew("held", "o", { leaseMs: 1_000 }));
    unlock();
    assert.deepEqual(await order.names(), [
      "renewal of the second",
      "claim of the second",
      "transaction",
      "claim of the first",
    ]);
    assert.deepEqual(await run, { state: "processed" });
  },

  async "calls on the handle of a transaction are answered after it has ended"(folder) {
    const database = openLedger(folder);
    const [store, transactions] = [sqliteStore({ database }), openTransactions({ database })];
    const [started, end] = [deferred(), deferred()];
    const work = async (tx: SqliteHandle) => {
      await writes("a")(tx);
      started.resolve();
      await end.promise;
      throw new Error("failed");
    };
    const run = transactions.process("k", work);
    await started.promise;
    const claim = store.claim("j", "o", TIMES);
    assert.ok(isPromise(claim));
    end.resolve();
    await assert.rejects(run, /failed/);
    assert.deepEqual(await claim, CLAIMED);
    // It ran in its own transaction, not in the one that was rolled back.
    assert.deepEqual(committed(folder), { effects: [], keys: ["j"] });
  },

  async "a waiting call rejects with the code wait_timeout if a transaction of the handle takes too long"(
    folder,
  ) {
    const database = openLedger(folder);
    const store = sqliteStore({ database, waitTimeoutMs: 30 });
    const impatient = sqliteStore({ database, waitTimeoutMs: 0 });
    const transactions = openTransactions({ database });
    const end = deferred();
    const run = transactions.process("k", () => end.promise);
    const late = { name: "GatewayWebhookError", code: "wait_timeout" };
    await assert.rejects(async () => store.claim("j", "o", TIMES), late);
    await assert.rejects(async () => impatient.claim("j", "o", TIMES), late);
    end.resolve();
    assert.deepEqual(await run, { state: "processed" });
    assert.deepEqual(impatient.claim("j", "o", TIMES), CLAIMED);
  },

  async "all waiting calls reject when the handle is closed"(folder) {
    const database = openLedger(folder);
    const store = sqliteStore({ database, waitTimeoutMs: 60_000 });
    const transactions = openTransactions({ database, waitTimeoutMs: 60_000 });
    const unlock = lock(folder);
    const closed = { name: "GatewayWebhookError", code: "handle_closed", message: /drain/ };
    const waiting = [
      store.claim("a", "o", TIMES),
      store.complete("b", "o", { retentionMs: 1_000 }),
      transactions.process("k", () => assert.fail("it ran")),
    ];
    const rejected = waiting.map((call) => assert.rejects(async () => call, closed));
    database.close();
    await Promise.all(rejected);
    unlock();
    await assert.rejects(async () => store.claim("a", "o", TIMES), closed);
    await assert.rejects(transactions.process("k", writes("a")), closed);
  },

  async "a transaction and the calls behind it reject when the handle is closed"(folder) {
    const database = openLedger(folder);
    const transactions = openTransactions({ database, waitTimeoutMs: 60_000 });
    const end = deferred();
    const run = transactions.process("k", () => end.promise);
    const behind = transactions.process("j", writes("j"));
    const rejected = [
      assert.rejects(run, /not open|been finalized|has closed/),
      assert.rejects(behind, { code: "handle_closed" }),
    ];
    database.close();
    end.resolve();
    await Promise.all(rejected);
    assert.deepEqual(committed(folder), { effects: [], keys: [] });
  },

  async "a process pauses between writes only after it has met another writer"(folder) {
    const database = folder.open();
    const store = sqliteStore({ database });
    // Otherwise one write may take longer than a period of writing.
    database.exec("PRAGMA synchronous = OFF");
    const claimFor = (ms: number) => {
      const until = performance.now() + ms;
      while (performance.now() < until) {
        const claim = store.claim("k", "o", TIMES);
        if (isPromise(claim)) return claim;
      }
      return undefined;
    };
    assert.equal(claimFor(20), undefined);
    const unlock = lock(folder);
    const met = store.claim("k", "o", TIMES);
    unlock();
    assert.deepEqual(await met, CLAIMED);
    assert.deepEqual(await claimFor(400), CLAIMED);
  },

  async "sqliteTransactions frees the handle of given-up work and refuses later calls of its handler"(
    folder,
  ) {
    const store = openTransactions({ database: openLedger(folder) });
    const [started, giveUp, goOn] = [deferred(), deferred(), deferred()];
    let handler: Promise<void> | undefined;
    const run = store.process("k", async (tx) => {
      handler = (async () => {
        await writes("a")(tx);
        started.resolve();
        await goOn.promise;
        await writes("late")(tx);
      })();
      await giveUp.promise;
    });
    await started.promise;
    const next = store.process("next", writes("b"));
    giveUp.reject(new Error("given up"));
    await assert.rejects(run, /given up/);
    assert.deepEqual(await next, { state: "processed" });
    goOn.resolve();
    await assert.rejects(async () => handler, { code: "transaction_misuse" });
    assert.deepEqual(await store.process("k", writes("c")), { state: "processed" });
    assert.deepEqual(committed(folder), { effects: ["b", "c"], keys: ["k", "next"] });
  },
};
