import type { MaybePromise } from "../../common/promises.js";
import { isLocked, retryDelayMs } from "./locked.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { createWriteTransactions } from "./write-transactions.js";

/**
 * What goes first among the calls that wait: what ends or keeps up a delivery that is being handled.
 * A new claim that goes first would let running handlers lose their leases.
 */
export type Rank = "running" | "new";

/** A transaction that stays open until one of these has ended it, which has to be called once. */
export interface HeldTransaction {
  /** Throws where the changes are not in the file; then `rollback` has to follow. */
  readonly commit: () => void;
  /** Never throws. */
  readonly rollback: () => void;
}

/**
 * The write transactions of one handle: one at a time, first come, first served within a rank. Only the
 * head of the queue asks for the lock of the file, so that a process with many deliveries asks no more
 * often than one with few.
 *
 * A call that has waited for `timeoutMs` fails: with the error of SQLite while another connection has the
 * lock, and with a `WaitTimeoutError` while other calls of this handle have the turn.
 */
export interface WriteQueue {
  /**
   * Runs `work` in a transaction of its own: at once where nothing waits and the lock is free, and
   * otherwise later, for which it returns a promise. Throws or rejects with what `work` throws, rolled back.
   */
  readonly run: <T>(rank: Rank, timeoutMs: number, work: () => T) => MaybePromise<T>;
  /** Begins a transaction that the caller ends. All other calls wait until then. */
  readonly hold: (rank: Rank, timeoutMs: number) => Promise<HeldTransaction>;
}

/** The writes of other deliveries of this process took the time. Answered 503, so nothing is lost. */
export class WaitTimeoutError extends Error {
  override readonly name = "WaitTimeoutError";
  /** Stable, so that code can branch on it. */
  readonly code = "wait_timeout";

  constructor(timeoutMs: number) {
    super(`the writes of other deliveries took longer than ${timeoutMs} ms (waitTimeoutMs)`);
  }
}

/** A call that waits. */
interface Call {
  /** Throws, having done nothing, while the file is locked. Otherwise it settles the call. */
  readonly attempt: () => void;
}

/** While others want the lock too: how long this handle may go on taking it. */
const TURN_MS = 5;
/** The pause after such a turn. Longer than the delay between two attempts of the others. */
const PAUSE_MS = 3;
/** How long others are expected to come again, after the lock was found taken. */
const CONTENDED_MS = 500;

/** By handle, since a connection has one transaction, however many stores share it. */
const queues = new WeakMap<SqliteDatabase, WriteQueue>();

/**
 * The queue of a handle: the same for every store on it.
 *
 * @param busyTimeoutMs The handle's own PRAGMA busy_timeout.
 */
export function writeQueueOn(database: SqliteDatabase, busyTimeoutMs: number): WriteQueue {
  let queue = queues.get(database);
  if (queue === undefined) {
    queue = createWriteQueue(database, busyTimeoutMs);
    queues.set(database, queue);
  }
  return queue;
}

function createWriteQueue(database: SqliteDatabase, busyTimeoutMs: number): WriteQueue {
  const transactions = createWriteTransactions(database, busyTimeoutMs);
  const waiting: Record<Rank, Set<Call>> = { running: new Set(), new: new Set() };
  let isHeld = false;
  /** The error of the last attempt, where that found the file locked. */
  let locked: Error | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  // SQLite keeps no queue of the processes that wait for its lock: one that takes it again at once would
  // keep it to itself. So each that has met another one pauses after its turn.
  let contendedUntil = 0;
  let turnEndsAt = 0;
  let pausedUntil = 0;

  /** Runs `start`, which takes the lock. Throws what it throws. */
  const take = <T>(start: () => T): T => {
    try {
      const result = start();
      // The turn begins with the lock that was waited for.
      if (locked !== undefined) turnEndsAt = performance.now() + TURN_MS;
      locked = undefined;
      return result;
    } catch (error) {
      locked = isLocked(error) ? error : undefined;
      if (locked !== undefined) contendedUntil = performance.now() + CONTENDED_MS;
      throw error;
    } finally {
      if (!isHeld) pauseAfterTurn();
    }
  };

  const pauseAfterTurn = (): void => {
    if (contendedUntil === 0 || locked !== undefined) return;
    const now = performance.now();
    if (now >= contendedUntil) contendedUntil = 0;
    else if (now >= turnEndsAt) {
      pausedUntil = now + PAUSE_MS;
      turnEndsAt = pausedUntil + TURN_MS;
    }
  };

  const nextCall = (): Call | undefined => {
    for (const calls of [waiting.running, waiting.new]) for (const call of calls) return call;
    return undefined;
  };

  const isPaused = () => pausedUntil !== 0 && performance.now() < pausedUntil;

  /** Serves those that wait, as far as the lock and the turn allow, and comes back for the others. */
  const serve = (): void => {
    timer = undefined;
    // The process has other things to do as well.
    const stopAt = performance.now() + TURN_MS;
    while (!isHeld) {
      const call = nextCall();
      if (call === undefined) return;
      const now = performance.now();
      if (now < pausedUntil || now >= stopAt) {
        serveIn(Math.max(0, pausedUntil - now));
        return;
      }
      try {
        call.attempt();
      } catch {
        serveIn(retryDelayMs());
        return;
      }
    }
  };

  const serveIn = (delayMs: number): void => {
    timer ??= setTimeout(serve, delayMs);
  };

  const wait = <T>(rank: Rank, timeoutMs: number, start: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const calls = waiting[rank];
      const leave = (): void => {
        clearTimeout(timeout);
        calls.delete(call);
      };
      const timeout = setTimeout(() => {
        leave();
        reject(locked ?? new WaitTimeoutError(timeoutMs));
      }, timeoutMs);
      const call: Call = {
        attempt() {
          try {
            resolve(take(start));
          } catch (error) {
            if (isLocked(error)) throw error;
            reject(error);
          }
          leave();
        },
      };
      calls.add(call);
      if (!isHeld) serveIn(retryDelayMs());
    });

  const startOrWait = <T>(rank: Rank, timeoutMs: number, start: () => T): MaybePromise<T> => {
    const isFirst = nextCall() === undefined && !isPaused();
    if (!isHeld && (isFirst || timeoutMs <= 0)) {
      try {
        return take(start);
      } catch (error) {
        if (!isLocked(error) || timeoutMs <= 0) throw error;
      }
    }
    return wait(rank, timeoutMs, start);
  };

  const begin = (): HeldTransaction => {
    transactions.begin();
    isHeld = true;
    const end = (): void => {
      isHeld = false;
      pauseAfterTurn();
      serve();
    };
    return {
      commit() {
        transactions.commit();
        end();
      },
      rollback() {
        transactions.rollback();
        end();
      },
    };
  };

  return {
    run: (rank, timeoutMs, work) => startOrWait(rank, timeoutMs, () => transactions.run(work)),
    hold: async (rank, timeoutMs) => startOrWait(rank, timeoutMs, begin),
  };
}
