import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { createRandom } from "../../../kit/random.js";
import { valueOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";

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

function hexWord(random: ReturnType<typeof createRandom>): string {
  return random
    .below(2 ** 32)
    .toString(16)
    .padStart(8, "0");
}

/** How long rows are kept. */
export const retentionChecks: SqliteChecks = {
  async "sqliteStore deletes rows past their retention while random ids complete"(folder) {
    const random = createRandom(1);
    const keys = Array.from({ length: 2 * KEYS }, () => hexWord(random) + hexWord(random));
    const left = await leftOver(folder, (index) => keys[index] ?? "");
    assert.ok(left < KEYS / 100, `${left} are left`);
  },

  async "sqliteStore deletes rows past their retention while ascending ids complete"(folder) {
    const left = await leftOver(folder, (index) => String(index).padStart(12, "0"));
    assert.equal(left, 0);
  },

  async "sqliteStore deletes rows past their retention while numbered ids complete"(folder) {
    const left = await leftOver(folder, (index) => `delivery-${index}`);
    assert.ok(left < KEYS / 100, `${left} are left`);
  },

  async "sqliteStore forgets a key that was never completed after the retention"({ open }) {
    const store = sqliteStore({ database: open() });
    const times = { leaseMs: 200, retentionMs: 4_000 };
    await store.claim("k", "a", times);
    await wait(300);
    assert.deepEqual(await store.claim("k", "b", times), { state: "claimed", takeover: true });
    await wait(4_100);
    assert.deepEqual(await store.claim("k", "c", times), { state: "claimed", takeover: false });
  },

  async "sqliteStore keeps a released takeover as long as any ended lease"({ open }) {
    const store = sqliteStore({ database: open() });
    const times = { leaseMs: 300, retentionMs: 4_000 };
    const takeover = { state: "claimed", takeover: true };
    await store.claim("k", "a", times);
    await wait(400);
    assert.deepEqual(await store.claim("k", "b", times), takeover);
    await store.release("k", "b");
    await wait(2_500);
    assert.deepEqual(await store.claim("k", "c", times), takeover);
    await store.release("k", "c");
    await wait(4_100);
    assert.deepEqual(await store.claim("k", "d", times), { state: "claimed", takeover: false });
  },

  async "sqliteStore completes a key again after its retention"({ open }) {
    const store = sqliteStore({ database: open() });
    await store.complete("k", "a", { retentionMs: 50 });
    await wait(100);
    await store.complete("k", "b", { retentionMs: LONG_MS });
    const duplicate = await store.claim("k", "c", { leaseMs: 100, retentionMs: 300 });
    assert.deepEqual(duplicate, { state: "completed" });
  },

  async "sqliteStore keeps a lease that outlasts the retention"({ open }) {
    const store = sqliteStore({ database: open() });
    await store.claim("claimed", "a", { leaseMs: LONG_MS, retentionMs: 1 });
    await store.claim("renewed", "a", { leaseMs: 1_000, retentionMs: 1 });
    assert.equal(await store.renew("renewed", "a", { leaseMs: LONG_MS }), true);
    await wait(1_100);
    await store.complete("a", "a", { retentionMs: LONG_MS });
    for (const key of ["claimed", "renewed"]) {
      const duplicate = await store.claim(key, "b", { leaseMs: 1_000, retentionMs: 1 });
      assert.ok(duplicate.state === "in_flight" && duplicate.retryAfterMs > LONG_MS - 60_000);
    }
  },

  async "sqliteTransactions processes a key again after its retention"({ open }) {
    const store = sqliteTransactions({ database: open() });
    let runs = 0;
    const work = async () => {
      await Promise.resolve(runs++);
    };
    const times = { retentionMs: 1_500 };
    assert.equal((await store.process("k", work, times)).state, "processed");
    assert.equal((await store.process("k", work, times)).state, "completed");
    await wait(1_600);
    assert.equal((await store.process("k", work, times)).state, "processed");
    assert.equal(runs, 2);
  },
};
