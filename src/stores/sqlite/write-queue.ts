import { atTurnEnd, Turns } from "./turns.js";
import { GatewayWebhookError } from "../../common/errors.js";
import type { MaybePromise } from "../../common/promises.js";
import { isBusy, retryDelayMs } from "./errors.js";
import type { SqliteDatabase } from "./sqlite-options.js";
import { WriteTransactions, type HeldTransaction } from "./write-transactions.js";

/** The work of a call. */
interface Work<T> {
  /** Takes the lock, and writes in a transaction of its own. */
  readonly start: () => T;
  /** Writes in the open transaction of a group. Undefined for a call that cannot share one. */
  readonly join?: () => T;
}

/**
 * Which waiting calls go first: `running` calls renew or end a delivery that is being handled. If new
 * claims went first, running handlers could lose their leases.
 */
type Rank = "running" | "new";

/** A call that waits. */
interface WaitingCall {
  /**
   * Runs it in a transaction of its own. Throws, with no effect, while the file is locked. Otherwise it
   * settles the call.
   */
  readonly attempt: () => void;
  /**
   * Runs it in the open transaction of a group. Returns the function that settles it after the commit.
   * Undefined for a call that needs a transaction of its own.
   */
  join: (() => () => void) | undefined;
}

/** How long the calls that wait may keep the event loop from other work. */
const SERVE_MS = 5;

/**
 * The mutex for the write transactions of one handle: one at a time, first come, first served within a
 * rank. Only the first call in the queue tries to get the lock of the file, so a process with many
 * deliveries tries no more often than one with few.
 *
 * Waiting calls share a transaction as far as they are next to each other in the queue, so that they wait
 * for the disk once.
 *
 * A call that has waited for `timeoutMs` milliseconds fails: with the error of SQLite while another
 * connection holds the lock, and with an error with the code `wait_timeout` while other calls of this handle write.
 */
export class WriteQueue {
  readonly #transactions: WriteTransactions;
  /** First in, first out within a rank, and those of the first rank first. */
  readonly #waiting: Record<Rank, Set<WaitingCall>> = { running: new Set(), new: new Set() };
  readonly #turns = new Turns();
  readonly #pauses = new LockPauses();
  #isHeld = false;
  /** The error of the last attempt, if that found the file locked. */
  #busy: Error | undefined;
  #isScheduled = false;

  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    this.#transactions = new WriteTransactions(database, busyTimeoutMs);
  }

  /**
   * Runs `work` in a transaction. While deliveries come one at a time, as their `key` tells, it runs at once
   * if no call waits and the lock is free. Otherwise it returns a promise and runs `work` at the end of this
   * turn of the event loop or later, with other calls in the same transaction. If `work` throws, its changes
   * are rolled back, and it throws or rejects with that error. `work` may run twice: its group is rolled
   * back if one call of it fails, and each then runs on its own.
   */
  run<T>(rank: Rank, key: string, timeoutMs: number, work: () => T): MaybePromise<T> {
    const isAlone = this.#turns.add(key);
    const shared = { start: () => this.#transactions.run(work), join: work };
    if (isAlone || timeoutMs <= 0) return this.#startOrWait(rank, timeoutMs, shared);
    return this.#wait(rank, timeoutMs, shared);
  }

  /** Begins a transaction that the caller ends. All other calls wait until then. */
  async hold(rank: Rank, timeoutMs: number): Promise<HeldTransaction> {
    return this.#startOrWait(rank, timeoutMs, { start: () => this.#begin() });
  }

  #startOrWait<T>(rank: Rank, timeoutMs: number, work: Work<T>): MaybePromise<T> {
    const isFirst =
      this.#waiting.running.size + this.#waiting.new.size === 0 && this.#pauses.remainingMs === 0;
    if (!this.#isHeld && (isFirst || timeoutMs <= 0)) {
      try {
        return this.#take(work.start);
      } catch (error) {
        if (!isBusy(error) || timeoutMs <= 0) throw error;
      }
    }
    return this.#wait(rank, timeoutMs, work);
  }

  /** Runs `start`, which takes the lock. Throws what it throws. */
  #take<T>(start: () => T): T {
    try {
      const result = start();
      // The time to write begins when this handle gets the lock.
      if (this.#busy !== undefined) this.#pauses.onTaken();
      this.#busy = undefined;
      return result;
    } catch (error) {
      this.#busy = isBusy(error) ? error : undefined;
      if (this.#busy !== undefined) this.#pauses.onBusy();
      throw error;
    } finally {
      if (!this.#isHeld && this.#busy === undefined) this.#pauses.onReleased();
    }
  }

  #begin(): HeldTransaction {
    this.#transactions.begin();
    this.#isHeld = true;
    const end = (): void => {
      this.#isHeld = false;
      this.#pauses.onReleased();
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

  /** Serves waiting calls as far as the lock and the pauses allow, and schedules itself for the rest. */
  #serve(): void {
    // After this time the event loop runs the other work of the process.
    const stopAt = performance.now() + SERVE_MS;
    while (!this.#isHeld) {
      const calls = this.#next();
      const [first] = calls;
      if (first === undefined) return;
      const pauseMs = this.#pauses.remainingMs;
      if (pauseMs > 0 || performance.now() >= stopAt) {
        this.#serveLater(pauseMs);
        return;
      }
      try {
        if (calls.length === 1) first.attempt();
        else this.#attemptTogether(calls, stopAt);
      } catch (error) {
        // Every other error has reached its caller.
        if (!isBusy(error)) throw error;
        this.#serveLater(retryDelayMs());
        return;
      }
    }
  }

  /** The calls at the head of the queue that can be one group, or the one that goes on its own. */
  #next(): readonly WaitingCall[] {
    const group: WaitingCall[] = [];
    for (const calls of [this.#waiting.running, this.#waiting.new]) {
      for (const call of calls) {
        if (call.join === undefined) return group.length === 0 ? [call] : group;
        group.push(call);
      }
    }
    return group;
  }

  /** Runs as many of the calls as the time allows, and settles them after the commit. */
  #attemptTogether(calls: readonly WaitingCall[], stopAt: number): void {
    const settlers: (() => void)[] = [];
    try {
      this.#take(() => {
        this.#transactions.run(() => {
          for (const { join } of calls) {
            if (join !== undefined) settlers.push(join());
            if (performance.now() >= stopAt) return;
          }
        });
      });
    } catch (error) {
      if (isBusy(error)) throw error;
      // Nothing of the group is in the file. Each call that ran is tried once more, on its own, so that only
      // the one at fault fails.
      for (const call of calls.slice(0, settlers.length + 1)) call.join = undefined;
      return;
    }
    for (const settle of settlers) settle();
  }

  /** Serves after a delay, or at the end of this turn of the event loop if that is 0. */
  #serveLater(delayMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const serve = (): void => {
      this.#isScheduled = false;
      this.#serve();
    };
    if (delayMs > 0) setTimeout(serve, delayMs);
    else atTurnEnd(serve);
  }

  #wait<T>(rank: Rank, timeoutMs: number, { start, join }: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timeout);
        this.#waiting[rank].delete(call);
      };
      const timeout = setTimeout(() => {
        leave();
        const message = `the writes of other deliveries took longer than ${timeoutMs} ms (waitTimeoutMs)`;
        reject(this.#busy ?? new GatewayWebhookError("wait_timeout", message));
      }, timeoutMs);
      const call: WaitingCall = {
        attempt: () => {
          try {
            resolve(this.#take(start));
          } catch (error) {
            if (isBusy(error)) throw error;
            reject(error);
          }
          leave();
        },
        join:
          join &&
          (() => {
            const result = join();
            return () => {
              resolve(result);
              leave();
            };
          }),
      };
      this.#waiting[rank].add(call);
      if (!this.#isHeld) this.#serveLater(this.#busy === undefined ? 0 : retryDelayMs());
    });
  }
}

/** How long this handle may go on taking the lock while other connections want it too. */
const WRITE_MS = 5;
/** The pause after that. Longer than the delay between two attempts of the others. */
const PAUSE_MS = 3;
/** For this long after the lock was found held, other connections are expected to want it again. */
const CONTENDED_MS = 500;

/**
 * When a handle leaves the lock of the file to others. SQLite keeps no queue of the processes that wait for
 * its lock, so a process that takes it again at once would keep it for itself. Each process that has met
 * another one pauses after it has written for a while.
 */
class LockPauses {
  #contendedUntil = 0;
  #writesUntil = 0;
  #pausedUntil = 0;

  /** Milliseconds until this handle may take the lock; 0 if it may now. */
  get remainingMs(): number {
    return this.#pausedUntil === 0 ? 0 : Math.max(0, this.#pausedUntil - performance.now());
  }

  /** The lock was found held by another connection. */
  onBusy(): void {
    this.#contendedUntil = performance.now() + CONTENDED_MS;
  }

  /** This handle got the lock that it had found held. */
  onTaken(): void {
    this.#writesUntil = performance.now() + WRITE_MS;
  }

  /** This handle has released the lock. */
  onReleased(): void {
    if (this.#contendedUntil === 0) return;
    const now = performance.now();
    if (now >= this.#contendedUntil) this.#contendedUntil = 0;
    else if (now >= this.#writesUntil) {
      this.#pausedUntil = now + PAUSE_MS;
      this.#writesUntil = this.#pausedUntil + WRITE_MS;
    }
  }
}
