import type { ProcessResult, TransactionalStore } from "../../../src/index.js";
import { never } from "../deferred.js";

/** Where a transaction can go wrong. */
export type TransactionPlace = "begin" | "commit" | "rollback";

/** How. An answer that is lost was a request that had its effect; a conflict may be tried again. */
export type TransactionFault = "rejects" | "hangs" | "loses the answer" | "conflicts";

/** What a store gets wrong, to prove that it would be noticed. */
export type TransactionMistake =
  | "remembers in a transaction of its own"
  | "forgets to remember"
  | "commits what has failed"
  | "answers completed for what is in flight"
  | "takes a COMMIT that was a ROLLBACK for done";

/** A transaction of the model. */
export interface ModelTx {
  readonly key: string;
  readonly write: () => void;
}

/** A process on the way to its database. */
export interface ModelConnection {
  readonly store: TransactionalStore<ModelTx>;
  /** The connections are cut: what is not yet on its way to COMMIT is rolled back. */
  readonly cut: () => void;
  /** The database finds the process gone: what has not arrived by now never will. */
  readonly close: () => void;
}

/** What lies between a process and its database. */
export interface Network {
  readonly task: (label: string) => Promise<void>;
  readonly takeFault: (place: TransactionPlace) => TransactionFault | undefined;
  readonly isGone: () => boolean;
}

/** The database itself, which outlives the processes that use it. */
export interface ModelDatabase {
  /** How many effects of each id are committed. */
  readonly effects: ReadonlyMap<string, number>;
  /** The store of one process over a network of its own. */
  readonly connect: (network: Network) => ModelConnection;
}

interface Open {
  readonly key: string;
  writes: number;
  state: "open" | "committing" | "ended";
}

/** How often a store tries, where it meets what is SQLSTATE 40001 elsewhere. */
const ATTEMPTS = 3;
class ConflictError extends Error {}

/** Makes an empty database; `mistake` is its stores'. */
export function createModelDatabase(mistake?: TransactionMistake): ModelDatabase {
  const effects = new Map<string, number>();
  const remembered = new Set<string>();
  const locks = new Map<string, Open>();

  const end = (tx: Open): void => {
    tx.state = "ended";
    if (locks.get(tx.key) === tx) locks.delete(tx.key);
  };
  const keep = (tx: Open): void => {
    if (tx.state === "ended") return;
    end(tx);
    effects.set(tx.key, (effects.get(tx.key) ?? 0) + tx.writes);
    if (mistake !== "forgets to remember") remembered.add(tx.key);
  };
  const open = (key: string): Open | ProcessResult => {
    if (remembered.has(key)) return { state: "completed" };
    if (locks.has(key)) {
      return mistake === "answers completed for what is in flight"
        ? { state: "completed" }
        : { state: "in_flight", retryAfterMs: 1_000 };
    }
    const tx: Open = { key, writes: 0, state: "open" };
    locks.set(key, tx);
    if (mistake === "remembers in a transaction of its own") remembered.add(key);
    return tx;
  };

  const connect = ({ task, takeFault, isGone }: Network): ModelConnection => {
    const opened = new Set<Open>();

    /** Applies something in the database, or goes wrong. */
    const request = async (place: TransactionPlace, apply: () => void): Promise<void> => {
      const fault = takeFault(place);
      if (isGone()) await never();
      await task(`${place} request`);
      if (fault === "rejects") throw new Error(`${place} fails`);
      if (fault === "conflicts") throw new ConflictError();
      if (fault === "hangs") await never();
      apply();
      await task(`${place} answer`);
      if (isGone()) await never();
      if (fault === "loses the answer") throw new Error(`the answer to ${place} is lost`);
    };

    /** Does it, and where that fails the connection is closed, which ends the transaction. */
    const requestFor = async (tx: Open, place: TransactionPlace, apply: () => void) => {
      try {
        await request(place, apply);
      } finally {
        end(tx);
      }
    };

    const attempt = async (
      key: string,
      work: (tx: ModelTx) => Promise<void>,
    ): Promise<ProcessResult> => {
      const begun: { said?: Open | ProcessResult } = {};
      try {
        await request("begin", () => {
          // A process that is gone meanwhile has no connection any more.
          if (isGone()) return;
          begun.said = open(key);
          if ("writes" in begun.said) opened.add(begun.said);
        });
      } catch (error) {
        for (const tx of opened) if (tx === begun.said) end(tx);
        throw error;
      }
      const tx = begun.said;
      if (tx === undefined || !("writes" in tx)) return tx ?? never();
      const write = () => {
        if (tx.state === "open") tx.writes += 1;
      };
      try {
        await work({ key, write });
      } catch (error) {
        if (mistake === "commits what has failed") keep(tx);
        const rolledBack = requestFor(tx, "rollback", () => undefined);
        await rolledBack.catch(() => undefined);
        throw error;
      }
      if (tx.state === "ended") {
        if (mistake === "takes a COMMIT that was a ROLLBACK for done")
          return { state: "processed" };
        throw new Error("the connection was cut");
      }
      tx.state = "committing";
      await requestFor(tx, "commit", () => keep(tx));
      return { state: "processed" };
    };

    return {
      store: {
        async process(key, work) {
          for (let left = ATTEMPTS - 1; ; left--) {
            try {
              return await attempt(key, work);
            } catch (error) {
              if (!(error instanceof ConflictError) || left === 0) throw error;
            }
          }
        },
      },
      cut() {
        for (const tx of opened) if (tx.state === "open") end(tx);
      },
      close() {
        for (const tx of opened) end(tx);
      },
    };
  };

  return { effects, connect };
}
