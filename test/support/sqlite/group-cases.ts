import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPromise } from "../../../src/common/promises.js";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { rowsOf, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";
import { watchedHandle } from "./watched-handle.js";
import { openTransactions, RETENTION } from "./transaction-cases.js";

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };
const KEYS = Array.from({ length: 20 }, (_, index) => `k${index}`);

/** Commits of 20 calls that share them. More than one on a machine that is busy for 5 ms. */
const FEW = KEYS.length / 2;
const ALL_CLAIMED = KEYS.map(() => CLAIMED);

function claimAll(store: DeliveryStore): Promise<unknown[]> {
  return Promise.all(KEYS.map(async (key) => store.claim(key, "o", TIMES)));
}

function remembered(database: SqliteHandle): unknown[] {
  return rowsOf(database, "SELECT key FROM gateway_deliveries ORDER BY key").flat();
}

/** Makes every write of the key `bad` fail as `how` says: ABORT or ROLLBACK. */
function poison(database: SqliteHandle, how: string): void {
  database.exec(`CREATE TRIGGER poison BEFORE INSERT ON gateway_deliveries WHEN new.key = 'bad'
    BEGIN SELECT RAISE(${how}, 'poisoned'); END`);
}

/** One failure in a group of 21 calls. */
async function failAlone(folder: SqliteFolder, how: string): Promise<void> {
  const { database, count } = watchedHandle(folder.open());
  const store = sqliteStore({ database });
  poison(folder.open(), how);
  const keys = [...KEYS.slice(0, 10), "bad", ...KEYS.slice(10)];
  const results = await Promise.allSettled(keys.map(async (key) => store.claim(key, "o", TIMES)));
  for (const [index, result] of results.entries()) {
    if (keys[index] !== "bad") assert.deepEqual(result, { status: "fulfilled", value: CLAIMED });
    else assert.ok(result.status === "rejected" && String(result.reason).includes("poisoned"));
  }
  assert.deepEqual(remembered(folder.open()), [...KEYS].sort());
  assert.ok(count("BEGIN IMMEDIATE") <= keys.length + 2, "calls were tried more than once more");
}

/** Calls that share a transaction. */
export const groupChecks: SqliteChecks = {
  async "the calls of one turn share one commit, except for the first"(folder) {
    const { database, count } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    const [first, ...others] = KEYS.map((key) => store.claim(key, "o", TIMES));
    assert.deepEqual(first, CLAIMED);
    assert.ok(others.every((claim) => isPromise(claim)));
    for (const claim of others) assert.deepEqual(await claim, CLAIMED);
    const commits = count("COMMIT");
    assert.ok(commits >= 2 && commits < FEW, `${commits} commits`);
    // The turn before had several calls, so this one waits for company.
    await Promise.all(KEYS.map(async (key) => store.complete(key, "o", RETENTION)));
    assert.ok(count("COMMIT") < commits + FEW);
    assert.deepEqual(remembered(folder.open()), [...KEYS].sort());
  },

  async "a call returns a value again after a turn with one call"(folder) {
    const store = sqliteStore({ database: folder.open() });
    await claimAll(store);
    const alone = store.claim("alone", "o", TIMES);
    assert.ok(isPromise(alone));
    assert.deepEqual(await alone, CLAIMED);
    await nextTurn();
    assert.deepEqual(store.claim("next", "o", TIMES), CLAIMED);
  },

  async "a handler that takes no time has its delivery claimed and completed at once"(folder) {
    const store = sqliteStore({ database: folder.open() });
    for (const key of KEYS) {
      assert.deepEqual(store.claim(key, "o", TIMES), CLAIMED);
      assert.equal(store.complete(key, "o", RETENTION), undefined);
      await nextTurn();
    }
  },

  async "calls for one key in one group count as one after the other"(folder) {
    const { database, count } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    for (const key of ["other", "done"]) await store.claim(key, "a", TIMES);
    const before = count("COMMIT");
    const [won, lost, renewed, , completed, again] = await Promise.all([
      store.claim("k", "a", TIMES),
      store.claim("k", "b", TIMES),
      store.renew("done", "a", { leaseMs: 1_000 }),
      store.complete("done", "a", RETENTION),
      store.claim("done", "b", TIMES),
      store.claim("k", "a", TIMES),
    ]);
    assert.ok(count("COMMIT") < before + 4);
    assert.deepEqual([won, again, renewed], [CLAIMED, CLAIMED, true]);
    assert.equal(lost.state, "in_flight");
    assert.deepEqual(completed, { state: "completed" });
  },

  "if a call of a group fails, no other call fails": (folder) => failAlone(folder, "ABORT"),

  "if a call of a group makes SQLite roll back, no other call fails": (folder) =>
    failAlone(folder, "ROLLBACK"),

  async "if the commit of a group fails, each of its calls is tried on its own"(folder) {
    const { database, count, failNext } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    await store.claim("first", "o", TIMES);
    failNext("COMMIT", 1);
    const claims = await claimAll(store);
    assert.deepEqual(claims, ALL_CLAIMED);
    assert.ok(count("COMMIT") <= 1 + 1 + KEYS.length, "calls were tried more than once more");
    assert.deepEqual(remembered(folder.open()), ["first", ...KEYS].sort());
  },

  async "if no commit is possible, every call of a group rejects and none is remembered"(folder) {
    const { database, failNext } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    await store.claim("first", "o", TIMES);
    failNext("COMMIT", 100);
    const claims = KEYS.map(async (key) => store.claim(key, "o", TIMES));
    for (const claim of claims) await assert.rejects(claim, /disk I\/O error/);
    assert.deepEqual(remembered(folder.open()), ["first"]);
  },

  async "if the file is full, every call of a group rejects that is not in the file"(folder) {
    const database = folder.open();
    const store = sqliteStore({ database });
    const pages = rowsOf(database, "PRAGMA page_count").flat();
    database.exec(`PRAGMA max_page_count = ${String(pages[0])}`);
    const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    const claims = keys.map(async (key) => store.claim(key, "o".repeat(40), TIMES));
    const results = await Promise.allSettled(claims);
    const claimed = keys.filter((_, index) => results[index]?.status === "fulfilled");
    assert.ok(claimed.length > 10 && claimed.length < 300, `${claimed.length} fit`);
    assert.deepEqual(remembered(folder.open()), claimed.sort());
  },

  async "a group that takes long is divided, so that other work runs in between"(folder) {
    const { database, count, slowDown } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    slowDown(2);
    const counting = new AbortController();
    let turns = 0;
    const countTurns = async () => {
      for (; !counting.signal.aborted; turns++) await nextTurn();
    };
    const counted = countTurns();
    assert.deepEqual(await claimAll(store), ALL_CLAIMED);
    counting.abort();
    await counted;
    // 40 ms of writing, at most about 5 ms at a time.
    assert.ok(count("COMMIT") > 5 && turns > 5, `${count("COMMIT")} commits, ${turns} turns`);
  },

  async "a group waits for the lock of another connection, and shares its commit then"(folder) {
    const { database, count } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    const other = folder.open();
    other.exec("BEGIN IMMEDIATE");
    const claims = claimAll(store);
    await nextTurn();
    other.exec("COMMIT");
    assert.deepEqual(await claims, ALL_CLAIMED);
    assert.ok(count("COMMIT") < FEW);
  },

  async "a transaction in the queue divides the calls before it from those behind it"(folder) {
    const { database, count } = watchedHandle(folder.open());
    const store = sqliteStore({ database });
    const transactions = openTransactions({ database });
    await store.claim("first", "o", TIMES);
    const before = KEYS.map((key) => store.claim(key, "o", TIMES));
    const run = transactions.process("run", () => Promise.resolve());
    const behind = KEYS.map((key) => store.claim(`behind-${key}`, "o", TIMES));
    assert.deepEqual(await run, { state: "processed" });
    for (const claim of [...before, ...behind]) assert.deepEqual(await claim, CLAIMED);
    assert.ok(count("COMMIT") >= 4 && count("COMMIT") < 4 + FEW);
  },

  async "the calls of a group reject when the handle is closed before its commit"(folder) {
    const database = folder.open();
    const store = sqliteStore({ database });
    const [first, ...others] = KEYS.map(async (key) => store.claim(key, "o", TIMES));
    database.close();
    assert.deepEqual(await first, CLAIMED);
    for (const claim of others) await assert.rejects(claim, { code: "handle_closed" });
    assert.deepEqual(remembered(folder.open()), ["k0"]);
  },
};
