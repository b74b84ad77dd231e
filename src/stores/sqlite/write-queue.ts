import type { MaybePromise } from "../../common/promises.js";
import { isBusy, retryDelayMs } from "./busy-retry.js";
import { WaitTimeoutError } from "./errors.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { WriteTransactions } from "./write-transactions.js";

/**
 * Which waiting calls go first: `running` calls renew or end a delivery that is being handled. If new
 * claims went first, running handlers could lose their leases.
 */
export type Rank = "running" | "new";

/** A transaction that stays open until the caller ends it, which it must do exactly once. */
export interface HeldTransaction {
  /** Throws if the changes are not in the file; call `rollback` then. */
  readonly commit: () => void;
  /** Never throws. */
  readonly rollback: () => void;
}

/** A call that waits. */
interface Call {
  /** Throws, with no effect, while the file is locked. Otherwise it settles the call. */
  readonly attempt: () => void;
}

/** How long this handle may go on taking the lock while other connections want it too. */
const WRITE_MS = 5;
/** The pause after that. Longer than the delay between two attempts of the others. */
const PAUSE_MS = 3;
/** For this long after the lock was found held, other connections are expected to want it again. */
const CONTENDED_MS = 500;

/** By handle: a connection has one transaction, even if several stores share it. */
const queues = new WeakMap<SqliteDatabase, WriteQueue>();

/**
 * The queue of a handle, the same for all stores on it.
 *
 * @param busyTimeoutMs The handle's own PRAGMA busy_timeout.
 */
export function writeQueueOn(database: SqliteDatabase, busyTimeoutMs: number): WriteQueue {
  let queue = queues.get(database);
  if (queue === undefined) {
    queue = new WriteQueue(database, busyTimeoutMs);
    queues.set(database, queue);
  }
  return queue;
}

/**
 * The mutex for the write transactions of one handle: one at a time, first come, first served within a
 * rank. Only the first call in the queue tries to get the lock of the file, so a process with many
 * deliveries tries no more often than one with few.
 *
 * A call that has waited for `timeoutMs` milliseconds fails: with the error of SQLite while another
 * connection holds the lock, and with a `WaitTimeoutError` while other calls of this handle write.
 */
export class WriteQueue {
  readonly #transactions: WriteTransactions;
  readonly #waiting: Record<Rank, Set<Call>> = { running: new Set(), new: new Set() };
  #isHeld = false;
  /** The error of the last attempt, if that found the file locked. */
  #busy: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  // SQLite keeps no queue of the processes that wait for its lock, so a process that takes it again at once
  // would keep it for itself. Each process that has met another one pauses after it has written for a while.
  #contendedUntil = 0;
  #writesUntil = 0;
  #pausedUntil = 0;

  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    this.#transactions = new WriteTransactions(database, busyTimeoutMs);
  }

  /**
   * Runs `work` in a transaction of its own: at once if no call waits and the lock is free. Otherwise it
   * returns a promise and runs `work` later. If `work` throws, it rolls back and throws or rejects with
   * that error.
   */
  run<T>(rank: Rank, timeoutMs: number, work: () => T): MaybePromise<T> {
    return this.#startOrWait(rank, timeoutMs, () => this.#transactions.run(work));
  }

  /** Begins a transaction that the caller ends. All other calls wait until then. */
  async hold(rank: Rank, timeoutMs: number): Promise<HeldTransaction> {
    return this.#startOrWait(rank, timeoutMs, () => this.#begin());
  }

  #startOrWait<T>(rank: Rank, timeoutMs: number, start: () => T): MaybePromise<T> {
    const isFirst = this.#nextCall() === undefined && !this.#isPaused();
    if (!this.#isHeld && (isFirst || timeoutMs <= 0)) {
      try {
        return this.#take(start);
      } catch (error) {
        if (!isBusy(error) || timeoutMs <= 0) throw error;
      }
    }
    return this.#wait(rank, timeoutMs, start);
  }

  /** Runs `start`, which takes the lock. Throws what it throws. */
  #take<T>(start: () => T): T {
    try {
      const result = start();
      // The time to write begins when this handle gets the lock.
      if (this.#busy !== undefined) this.#writesUntil = performance.now() + WRITE_MS;
      this.#busy = undefined;
      return result;
    } catch (error) {
      this.#busy = isBusy(error) ? error : undefined;
      if (this.#busy !== undefined) this.#contendedUntil = performance.now() + CONTENDED_MS;
      throw error;
    } finally {
      if (!this.#isHeld) this.#pauseIfContended();
    }
  }

  #begin(): HeldTransaction {
    this.#transactions.begin();
    this.#isHeld = true;
    const end = (): void => {
      this.#isHeld = false;
      this.#pauseIfContended();
      this.#serve();
    };
    return {
      commit: () => {
        this.#transactions.commit();
        end();
      },
      rollback: () => {
        this.#transactions.rollback();
        end();
      },
    };
  }

  #pauseIfContended(): void {
    if (this.#contendedUntil === 0 || this.#busy !== undefined) return;
    const now = performance.now();
    if (now >= this.#contendedUntil) this.#contendedUntil = 0;
    else if (now >= this.#writesUntil) {
      this.#pausedUntil = now + PAUSE_MS;
      this.#writesUntil = this.#pausedUntil + WRITE_MS;
    }
  }

  #isPaused(): boolean {
    return this.#pausedUntil !== 0 && performance.now() < this.#pausedUntil;
  }

  #nextCall(): Call | undefined {
    const { running, new: added } = this.#waiting;
    for (const calls of [running, added]) for (const call of calls) return call;
    return undefined;
  }

  /** Serves waiting calls as far as the lock and the pauses allow, and schedules itself for the rest. */
  #serve(): void {
    this.#timer = undefined;
    // After this time the event loop runs the other work of the process.
    const stopAt = performance.now() + WRITE_MS;
    while (!this.#isHeld) {
      const call = this.#nextCall();
      if (call === undefined) return;
      const now = performance.now();
      if (now < this.#pausedUntil || now >= stopAt) {
        this.#serveIn(Math.max(0, this.#pausedUntil - now));
        return;
      }
      try {
        call.attempt();
      } catch {
        this.#serveIn(retryDelayMs());
        return;
      }
    }
  }

  #serveIn(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#serve();
    }, delayMs);
  }

  #wait<T>(rank: Rank, timeoutMs: number, start: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const calls = this.#waiting[rank];
      const leave = (): void => {
        clearTimeout(timeout);
        calls.delete(call);
      };
      const timeout = setTimeout(() => {
        leave();
        reject(this.#busy ?? new WaitTimeoutError(timeoutMs));
      }, timeoutMs);
      const call: Call = {
        attempt: () => {
          try {
            resolve(this.#take(start));
          } catch (error) {
            if (isBusy(error)) throw error;
            reject(error);
          }
          leave();
        },
      };
      calls.add(call);
      if (!this.#isHeld) this.#serveIn(retryDelayMs());
    });
  }
}
