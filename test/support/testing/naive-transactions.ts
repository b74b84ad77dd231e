import { setTimeout as wait } from "node:timers/promises";
import type { TransactionalStore } from "../../../src/index.js";
import type { TransactionalStoreUnderTest } from "../../../kit/store-contract/contract-case.js";

/** What a naive transactional store can be made to do wrong, with a case that must convict it. */
export const TRANSACTION_MISTAKES = {
  "remembers an id whose work failed": "rollback",
  "remembers only ids whose work wrote": "commit",
  "looks whether an id is in flight, and marks it later": "race",
  "answers completed for what is in flight": "open",
  "answers completed for what its own client has in flight": "open-own",
  "answers completed to what has waited": "open-fails",
  "does not tell another client when to try again": "open",
  "wraps an error of the work that is no Error": "rollback-error",
  "keeps a failed id locked for other clients": "rollback",
  "uses up a connection at each failure": "rollback-again",
  "has one transaction for all deliveries": "apart",
  "calls a run after a rollback a takeover": "no-takeover",
  "keeps an id forever": "retention",
  "overflows on a long retention": "retention-long",
  "caps a retention at 30 days": "retention-days",
  "forgets ids beyond a thousand": "keys-many",
  "cuts ids at 127 characters": "keys-late",
  "mixes up letter case": "keys-apart",
  "forgets records": "record",
  "does not remember an id of a known record": "record",
  "remembers a record whose work failed": "record-fails",
  "runs a record under two ids at once": "record-race",
  "looks whether a record is in flight, and marks it later": "record-race",
  "answers completed for a record in flight": "record-open",
} as const;

export type TransactionMistake = keyof typeof TRANSACTION_MISTAKES;

/** How a right store may differ. */
export type TransactionVariant =
  | "waits for what is in flight"
  | "refuses what is in flight"
  | "has one writer"
  | "counts a retention from the last look";

/** The transaction of a handler: the rows that it has written. */
interface Tx {
  rows: string[];
}

const DAY_MS = 86_400_000;
const CONNECTIONS = 10;

/** The data that the clients share. */
interface Data {
  readonly rows: string[];
  readonly expiries: Map<string, { until: number; retentionMs: number }>;
  readonly running: Map<string, Promise<unknown>>;
  readonly failed: Set<string>;
}

/**
 * The `TransactionalStore` contract once more, in memory and with two clients, so that tests can break it in
 * one place.
 */
export function naiveTransactions(
  now: () => number,
  change?: TransactionMistake | TransactionVariant,
): Omit<TransactionalStoreUnderTest<Tx>, "advance"> {
  const data: Data = { rows: [], expiries: new Map(), running: new Map(), failed: new Set() };
  const is = (one: TransactionMistake | TransactionVariant) => change === one;
  const shared: Tx = { rows: [] };
  let freeConnections = CONNECTIONS;
  let lastWriter: Promise<unknown> = Promise.resolve();

  const keptMs = (ms: number) => {
    if (is("keeps an id forever")) return Infinity;
    if (is("overflows on a long retention")) return ms > 2 ** 31 - 1 ? 1 : ms;
    return is("caps a retention at 30 days") ? Math.min(ms, 30 * DAY_MS) : ms;
  };
  const storedAs = (key: string) => {
    if (is("cuts ids at 127 characters")) return key.slice(0, 127);
    return is("mixes up letter case") ? key.toLowerCase() : key;
  };

  const clientOf = ({ rows, expiries, running, failed }: Data): TransactionalStore<Tx> => {
    /** The ids that came through this client. */
    const own = new Set<string>();
    const remember = (key: string, retentionMs: number) => {
      const kept = keptMs(retentionMs);
      expiries.set(key, { until: now() + kept, retentionMs: kept });
      const [oldest = ""] = expiries.keys();
      if (is("forgets ids beyond a thousand") && expiries.size > 1_000) expiries.delete(oldest);
    };
    const isCompleted = (key: string) => {
      const known = expiries.get(key);
      if (known === undefined || known.until <= now()) return false;
      if (is("counts a retention from the last look")) known.until = now() + known.retentionMs;
      return true;
    };
    const runInTransaction: TransactionalStore<Tx>["process"] = async (key, work, times) => {
      const tx: Tx = is("has one transaction for all deliveries") ? shared : { rows: [] };
      const takeover = is("calls a run after a rollback a takeover") && failed.has(key);
      try {
        await work(tx, { takeover });
      } catch (error) {
        failed.add(key);
        if (is("uses up a connection at each failure")) freeConnections -= 1;
        if (is("remembers an id whose work failed")) remember(key, times.retentionMs);
        const { recordKey } = times;
        if (recordKey !== undefined && is("remembers a record whose work failed"))
          remember(recordKey, times.retentionMs);
        tx.rows = [];
        const isOdd =
          is("wraps an error of the work that is no Error") && !(error instanceof Error);
        throw isOdd ? new Error("rolled back", { cause: error }) : error;
      }
      const isEmpty = tx.rows.length === 0 && is("remembers only ids whose work wrote");
      if (!isEmpty) remember(key, times.retentionMs);
      rows.push(...tx.rows.splice(0));
      return { state: "processed" };
    };
    const processRecord: TransactionalStore<Tx>["process"] = async (key, work, times) => {
      const { recordKey, retentionMs } = times;
      if (recordKey === undefined || isCompleted(key) || running.has(key)) {
        return processNow(key, work, times);
      }
      if (isCompleted(recordKey)) {
        if (!is("does not remember an id of a known record")) remember(key, retentionMs);
        return { state: "completed", sameRecord: true };
      }
      if (running.has(recordKey) && !is("runs a record under two ids at once")) {
        return is("answers completed for a record in flight")
          ? { state: "completed", sameRecord: true }
          : { state: "in_flight", retryAfterMs: 1_000, sameRecord: true };
      }
      if (is("looks whether a record is in flight, and marks it later")) await Promise.resolve();
      const result = processNow(key, work, times);
      running.set(recordKey, result);
      try {
        const done = await result;
        if (done.state === "processed" && !is("forgets records")) remember(recordKey, retentionMs);
        return done;
      } finally {
        running.delete(recordKey);
      }
    };
    const processNow: TransactionalStore<Tx>["process"] = async (key, work, times) => {
      if (isCompleted(key)) return { state: "completed" };
      if (is("keeps a failed id locked for other clients") && failed.has(key) && !own.has(key))
        return { state: "in_flight", retryAfterMs: 1_000 };
      const current = running.get(key);
      if (current !== undefined) {
        if (is("refuses what is in flight")) throw new Error("the row is locked");
        if (is("answers completed for what is in flight")) return { state: "completed" };
        if (is("answers completed for what its own client has in flight") && own.has(key))
          return { state: "completed" };
        if (is("does not tell another client when to try again") && !own.has(key))
          return { state: "in_flight", retryAfterMs: 0 };
        const isPatient = is("answers completed to what has waited");
        if (!is("waits for what is in flight") && !isPatient)
          return { state: "in_flight", retryAfterMs: 1_000 };
        await current.catch(() => undefined);
        if (isPatient) return { state: "completed" };
        return processNow(key, work, times);
      }
      if (is("looks whether an id is in flight, and marks it later")) await Promise.resolve();
      own.add(key);
      if (freeConnections === 0) await wait(2 ** 31 - 1, undefined, { ref: false });
      const result = runInTransaction(key, work, times);
      running.set(key, result);
      try {
        return await result;
      } finally {
        running.delete(key);
      }
    };
    return {
      remembersRecords: true,
      process(key, work, times) {
        const stored = storedAs(key);
        if (!is("has one writer")) return processRecord(stored, work, times);
        if (running.has(stored))
          return Promise.resolve({ state: "in_flight", retryAfterMs: 1_000 });
        const turn = lastWriter.then(() => processRecord(stored, work, times));
        lastWriter = turn.catch(() => undefined);
        return turn;
      },
    };
  };

  return {
    store: clientOf(data),
    otherClient: clientOf(data),
    write: (tx, text) => tx.rows.push(text),
    written: () => data.rows,
  };
}
