import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPromise } from "../../../src/common/promises.js";
import type { DeliveryStore } from "../../../src/stores/delivery-store.js";
import { type SqliteDatabase, sqliteStore } from "../../../src/stores/sqlite/index.js";
import { deferred } from "../deferred.js";
import { rowsOf, type SqliteDriver, type SqliteHandle } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";
import { committed, openLedger, openTransactions, RETENTION, writes } from "./transaction-cases.js";
import { CLAIMED, TIMES } from "../stores/store-cases.js";

const KEYS = Array.from({ length: 20 }, (_, index) => `k${index}`);

/** Commits of 20 calls that share them. More than one on a machine that is busy for 5 ms. */
const FEW = KEYS.length / 2;
const ALL_CLAIMED = KEYS.map(() => CLAIMED);

function claimAll(store: DeliveryStore, prefix = ""): Promise<unknown[]> {
  return Promise.all(KEYS.map(async (key) => store.claim(prefix + key, "o", TIMES)));
}

function remembered(database: SqliteHandle): unknown[] {
  return rowsOf(database, "SELECT key FROM gateway_deliveries ORDER BY key").flat();
}

/** A handle for a store, whose transactions are counted and made to fail. */
function watchedHandle(handle: SqliteDatabase) {
  const counts = new Map<string, number>();
  const failures = new Map<string, number>();
  let slowMs = 0;
  let afterCommit: (() => void) | undefined;

  const exec = (text: string): unknown => {
    // A driver's default for busy_timeout decides what stands before BEGIN.
    const sql = text.replace(/^PRAGMA busy_timeout = 0; /, "");
    counts.set(sql, (counts.get(sql) ?? 0) + 1);
    const left = failures.get(sql) ?? 0;
    failures.set(sql, left - 1);
    if (left > 0) throw new Error("disk I/O error");
    const result = handle.exec(text);
    if (sql === "COMMIT") afterCommit?.();
    return result;
  };
  const prepare: SqliteDatabase["prepare"] = (sql) => {
    const statement = handle.prepare(sql);
    return {
      get: (...values) => statement.get(...values),
      run(...values) {
        const until = performance.now() + slowMs;
        while (performance.now() < until);
        return statement.run(...values);
      },
    };
  };
  return {
    database: { exec, prepare },
    /** How many times the command was run, failures included. */
    count: (command: string) => counts.get(command) ?? 0,
    /** Makes the next runs of the command fail, without effect. */
    failNext: (command: string, times: number) => failures.set(command, times),
    /** Makes each write take this many milliseconds longer. */
    slowDown: (ms: number) => (slowMs = ms),
    /** Calls `hook` after each commit, before the store can answer. */
    onCommit: (hook: () => void) => (afterCommit = hook),
  };
}

/** A store on such a handle. */
function watchedStore({ open }: SqliteFolder) {
  const watched = watchedHandle(open());
  return { ...watched, store: sqliteStore({ database: watched.database }) };
}

/** Locks the file by another connection. Returns a function that releases the lock. */
function lock({ open }: SqliteFolder): () => void {
  const other = open();
  other.exec("BEGIN IMMEDIATE");
  return () => {
    other.exec("COMMIT");
    other.close();
  };
}

const ROUNDS = 6;
const CALLERS = 24;

/** What a power cut leaves after each commit: the file and its write-ahead log, without the shared memory. */
async function recover(folder: SqliteFolder, driver: SqliteDriver): Promise<void> {
  const { store, onCommit } = watchedStore(folder);
  let copies = 0;
  onCommit(() => {
    for (const part of ["", "-wal"])
      copyFileSync(folder.file + part, `${folder.file}.${copies}${part}`);
    copies += 1;
  });
  /** Acknowledged calls, each with the number of copies at that time. */
  const claimed = new Map<string, number>();
  const completed = new Map<string, number>();
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let round = 0; round < ROUNDS; round++) {
        const key = `${caller}-${round}`;
        await store.claim(key, "o", TIMES);
        claimed.set(key, copies);
        if (caller % 3 === 0) continue;
        await store.complete(key, "o", TIMES);
        completed.set(key, copies);
      }
    }),
  );
  assert.ok(copies < CALLERS * ROUNDS, `${copies} commits: the calls shared none`);
  for (let copy = 0; copy < copies; copy++) {
    const recovered = driver.open(`${folder.file}.${copy}`);
    const after = sqliteStore({ database: recovered });
    const stateOf = async (key: string) => (await after.claim(key, "another", TIMES)).state;
    const atCopy = (calls: Map<string, number>) =>
      [...calls].filter(([, known]) => known <= copy + 1).map(([key]) => key);
    for (const key of atCopy(completed)) assert.equal(await stateOf(key), "completed");
    for (const key of atCopy(claimed)) assert.notEqual(await stateOf(key), "claimed");
    recovered.close();
  }
}

/** Calls that share a transaction, and calls that wait for the lock of the file and for each other. */
export const callChecks: SqliteChecks = {
  async "the calls of one turn share one commit, except for the first"(folder) {
    const { store, count } = watchedStore(folder);
    const [first, ...others] = KEYS.map((key) => store.claim(key, "o", TIMES));
    assert.deepEqual(first, CLAIMED);
    assert.ok(others.every((claim) => isPromise(claim)));
    assert.deepEqual(await Promise.all(others), ALL_CLAIMED.slice(1));
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

  async "if a call of a group makes SQLite roll back, no other call fails"(folder) {
    const { store, count } = watchedStore(folder);
    folder.open().exec(`CREATE TRIGGER poison BEFORE INSERT ON gateway_deliveries
      WHEN new.key = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'poisoned'); END`);
    const keys = [...KEYS.slice(0, 10), "bad", ...KEYS.slice(10)];
    const claims = keys.map(async (key) => store.claim(key, "o", TIMES));
    const [bad] = claims.splice(10, 1);
    await assert.rejects(async () => bad, /poisoned/);
    assert.deepEqual(await Promise.all(claims), ALL_CLAIMED);
    assert.deepEqual(remembered(folder.open()), [...KEYS].sort());
    assert.ok(count("BEGIN IMMEDIATE") <= keys.length + 2, "calls were tried more than once more");
  },

  async "if the commit of a group fails, each call is tried alone"(folder) {
    const { store, count, failNext } = watchedStore(folder);
    await store.claim("first", "o", TIMES);
    failNext("COMMIT", 1);
    assert.deepEqual(await claimAll(store), ALL_CLAIMED);
    assert.ok(count("COMMIT") <= 1 + 1 + KEYS.length, "calls were tried more than once more");
    assert.deepEqual(remembered(folder.open()), ["first", ...KEYS].sort());
  },

  async "if no commit is possible, every call of a group rejects"(folder) {
    const { store, failNext } = watchedStore(folder);
    await store.claim("first", "o", TIMES);
    failNext("COMMIT", 100);
    const claims = KEYS.map(async (key) => store.claim(key, "o", TIMES));
    for (const claim of claims) await assert.rejects(claim, /disk I\/O error/);
    assert.deepEqual(remembered(folder.open()), ["first"]);
  },

  async "if the file is full, every call rejects that is not in it"(folder) {
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

  async "a group that takes long is divided, so that other work runs"(folder) {
    const { store, count, slowDown } = watchedStore(folder);
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

  async "a transaction divides the calls before it from those behind it"(folder) {
    const { store, database, count } = watchedStore(folder);
    const transactions = openTransactions({ database });
    await store.claim("first", "o", TIMES);
    const before = claimAll(store);
    const run = transactions.process("run", () => Promise.resolve());
    const behind = claimAll(store, "behind-");
    assert.deepEqual(await run, { state: "processed" });
    assert.deepEqual([await before, await behind], [ALL_CLAIMED, ALL_CLAIMED]);
    assert.ok(count("COMMIT") >= 4 && count("COMMIT") < 4 + FEW);
  },

  "a power cut loses nothing that a group has acknowledged": recover,

  async "all stores on a handle share one queue"(folder) {
    const database = openLedger(folder);
    const [first, second] = [sqliteStore({ database }), sqliteStore({ database, table: "second" })];
    const transactions = openTransactions({ database });
    await second.claim("held", "o", TIMES);
    const unlock = lock(folder);
    const served: string[] = [];
    const note = (name: string) => () => Promise.resolve(void served.push(name));
    const calls = [
      Promise.resolve(second.claim("a", "o", TIMES)).then(note("claim of the second")),
      transactions.process("k", note("transaction")),
      Promise.resolve(first.claim("a", "o", TIMES)).then(note("claim of the first")),
      Promise.resolve(second.renew("held", "o", TIMES)).then(note("renewal of the second")),
    ];
    assert.deepEqual(served, []);
    unlock();
    await Promise.all(calls);
    const renewed = ["renewal of the second", "claim of the second"];
    assert.deepEqual(served, [...renewed, "transaction", "claim of the first"]);
  },

  async "a call that waits too long for a transaction rejects with wait_timeout"(folder) {
    const database = openLedger(folder);
    const store = sqliteStore({ database, waitTimeoutMs: 30 });
    const impatient = sqliteStore({ database, waitTimeoutMs: 0 });
    const transactions = openTransactions({ database });
    const end = deferred();
    const run = transactions.process("k", () => end.promise);
    const late = { name: "GatewayWebhookError", code: "wait_timeout" };
    for (const one of [store, impatient]) {
      await assert.rejects(async () => one.claim("j", "o", TIMES), late);
    }
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

  async "a process pauses between writes only after it met another writer"(folder) {
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
};
