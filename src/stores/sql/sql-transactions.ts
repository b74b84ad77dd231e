import { invalidOption } from "../../common/errors.js";
import { ownOptions, requireMethods } from "../../common/option-checks.js";
import type { MaybePromise } from "../../common/promises.js";
import { retryConflicts } from "../conflict-retry.js";
import { RETRY_AFTER_MS } from "../postgres/lease-statements.js";
import { COMPLETED, inFlight, type ClaimResult } from "../delivery-store.js";
import { transactionAborted, transactionMisuse } from "../transaction-errors.js";
import {
  concurrencyOfPool,
  type ProcessOptions,
  type ProcessResult,
  type TransactionalStore,
  type WorkFacts,
} from "../transactional-store.js";
import { checkDialect, type SqlDialect, statementsOf } from "./dialects.js";
import { guardTransaction } from "./guarded-transaction.js";
import { isAborted, isConflict, isWaitOver, standingOf } from "./sql-results.js";

/** Options of `sqlTransactions`. `Tx` is the ORM's own type of a transaction. */
export interface SqlTransactionsOptions<Tx> {
  /** The database: PostgreSQL 12 or later, MySQL 8.0.16 or MariaDB 10.6 or later, or SQLite 3.35 or later. */
  readonly dialect: SqlDialect;
  /**
   * Runs the callback in a transaction, commits if it resolves, rolls back and rejects if it rejects. It rejects if the
   * commit failed, or got no answer.
   */
  readonly transaction: (run: (tx: Tx) => Promise<void>) => MaybePromise<unknown>;
  /**
   * Runs one statement in the transaction `tx`. Resolves to its rows: as an array of objects, as an array whose first
   * element is that array, or as an object with `rows`. `values` is empty: the statements hold their values, because ORMs
   * mark parameters in different ways.
   */
  readonly query: (tx: Tx, sql: string, values: readonly unknown[]) => MaybePromise<unknown>;
  /**
   * How many connections the ORM has in this process, from 1. The store runs one delivery less at once, which leaves a
   * connection to the rest of the application; more deliveries wait for their turn. SQLite has one writer, so leave it out
   * there.
   */
  readonly connections?: number | undefined;
  /** The table, as the stores of the same database name it. Default `gateway_deliveries`. */
  readonly table?: string | undefined;
}

/**
 * A store that remembers a delivery in the same transaction as the handler's own writes, whatever ORM or query builder
 * opens it: either both are committed or neither. `context.tx` is the ORM's transaction. Create the table first, with the
 * SQL of `sqlSchema`. It is the table of `postgresTransactions`, `mysqlTransactions` and `sqliteTransactions`, so one store
 * can take over from the other. Do not run a store that leases (`postgresStore`, …) on it at the same time.
 *
 * After the handler the store completes its row and looks at it again, in the transaction and after its commit. If the row
 * is gone, because a statement had ended the transaction, the delivery is not handled and the gateway sends it again. `tx`
 * throws a `transaction_misuse` once the handler has settled.
 *
 * The connection belongs to the ORM, so the store bounds neither the time of a transaction nor that of a statement, does
 * not notice a connection that breaks before the next statement, and does not refuse a COMMIT that the handler sends as
 * text. After such a COMMIT the next run of the delivery has `context.takeover`. What a handler writes after a statement
 * that ended its transaction, such as a deadlock of MySQL whose error it caught, is committed by itself.
 *
 * A delivery takes two transactions, and the first one two more: one that the store rolls back, and one that looks whether
 * anything of it stayed. If it did, `query` does not run in the transaction: every delivery is answered 503, with a `transaction_misuse`.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that cannot work.
 * @example
 * const store = sqlTransactions<Prisma.TransactionClient>({
 *   dialect: "postgres",
 *   transaction: (run) => prisma.$transaction(run),
 *   query: (tx, sql, values) => tx.$queryRawUnsafe(sql, ...values),
 *   connections: 10,
 * });
 */
export function sqlTransactions<Tx>(options: SqlTransactionsOptions<Tx>): TransactionalStore<Tx> {
  const own = checked(options);
  const statements = statementsOf(own.dialect, own.table);
  const running = new Set<string>();
  let isProven = false;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: an ORM may have one connection, on which two transactions at once would be one. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return turn;
  };

  const query = async (tx: Tx, sql: string): Promise<unknown> => await own.query(tx, sql, []);
  const look = async (tx: Tx, key: string, owner: string) =>
    standingOf(await query(tx, statements.look(key, owner)));

  /** Writes the row of a key, or says why not. Undefined: another change came first. */
  const claim = async (
    tx: Tx,
    { key, owner, retentionMs }: Claim,
  ): Promise<ClaimResult | undefined> => {
    await query(tx, statements.insert(key, owner, retentionMs));
    const found = await look(tx, key, owner);
    if (found !== "ended") return found;
    await query(tx, statements.take(key, owner, retentionMs));
    const taken = await look(tx, key, owner);
    return taken === "ended" ? undefined : taken;
  };

  /** The keys are from now on known as handled, if the transaction is still that of `claim`. */
  const complete = async (tx: Tx, keys: readonly string[], { owner, retentionMs }: Claim) => {
    try {
      await query(tx, statements.complete(keys, owner, retentionMs));
      for (const key of keys) {
        if ((await look(tx, key, owner)) !== COMPLETED) throw transactionAborted();
      }
    } catch (error) {
      throw isAborted(error) ? transactionAborted(error) : error;
    }
  };

  const begin = async (tx: Tx, first: Claim, recordKey: string | undefined): Promise<Begun> => {
    try {
      const claimed = await claim(tx, first);
      if (claimed?.state !== "claimed") return { refused: claimed };
      if (recordKey === undefined) return { facts: claimed };
      const record = await claim(tx, { ...first, key: recordKey }).catch((error: unknown) => {
        if (isConflict(error) || isWaitOver(error)) return inFlight(RETRY_AFTER_MS);
        throw error;
      });
      if (record?.state !== "claimed")
        return { refused: record && { ...record, sameRecord: true } };
      return { facts: { takeover: claimed.takeover || record.takeover } };
    } catch (error) {
      if (isWaitOver(error)) return { refused: inFlight(RETRY_AFTER_MS) };
      throw error;
    }
  };

  const attempt = async (
    key: string,
    work: (tx: Tx, facts: WorkFacts) => Promise<void>,
    { retentionMs, recordKey }: ProcessOptions,
    onWork: () => void,
  ): Promise<ProcessResult | undefined> => {
    let ending: Ending | undefined;
    let first: Claim | undefined;
    const inTransaction = async (tx: Tx): Promise<void> => {
      ending = undefined;
      first = { key, owner: globalThis.crypto.randomUUID(), retentionMs };
      const begun = await begin(tx, first, recordKey);
      if ("refused" in begun) {
        const { refused } = begun;
        // The record was handled under another key: from now on this key is known too.
        const isKnown = refused?.state === "completed" && refused.sameRecord === true;
        if (isKnown) await complete(tx, [key], first);
        ending = { result: refused };
        if (isKnown) return;
        throw new Error(NOTHING_TO_COMMIT);
      }
      onWork();
      const guarded = guardTransaction(tx);
      try {
        await work(guarded.tx, begun.facts);
      } catch (error) {
        ending = { error };
        // Some ORMs take only an Error.
        throw error instanceof Error ? error : new Error(NOTHING_TO_COMMIT);
      } finally {
        guarded.close();
      }
      await complete(tx, recordKey === undefined ? [key] : [key, recordKey], first);
      ending = { result: { state: "processed" } };
    };
    try {
      await own.transaction(inTransaction);
    } catch (error) {
      // What was to be committed is lost, or nobody knows.
      if (ending === undefined || isCommitted(ending)) throw error;
    }
    if (ending === undefined) {
      throw transactionMisuse("transaction resolved before its callback had ended");
    }
    if ("error" in ending) throw ending.error;
    if (isCommitted(ending) && first !== undefined) await seeCommitted(first);
    return ending.result;
  };

  /**
   * A COMMIT of PostgreSQL rolls back without an error if a statement that the handler left running has failed, and an ORM
   * may take a COMMIT for the end of a savepoint. So the row is looked at once more from outside.
   */
  const seeCommitted = async ({ key, owner }: Claim): Promise<void> => {
    let found: Awaited<ReturnType<typeof look>>;
    await own.transaction(async (tx) => {
      found = await look(tx, key, owner);
    });
    if (found !== COMPLETED) throw transactionAborted();
  };

  /** A statement that ran beside the transaction is still there after it was rolled back. */
  const prove = async (): Promise<void> => {
    // No delivery has a # in its id.
    const claimed = {
      key: `probe#${globalThis.crypto.randomUUID()}`,
      owner: "probe",
      retentionMs: 1_000,
    };
    const state = { isWritten: false };
    let found: Awaited<ReturnType<typeof look>>;
    try {
      await own.transaction(async (tx) => {
        await claim(tx, claimed);
        state.isWritten = true;
        throw new Error(NOTHING_TO_COMMIT);
      });
    } catch (error) {
      if (!state.isWritten) throw error;
    }
    await own.transaction(async (tx) => {
      found = await look(tx, claimed.key, claimed.owner);
    });
    if (found === undefined) return;
    throw transactionMisuse(
      "what query wrote stayed after transaction rejected: query must run its statement in the transaction that it is given",
    );
  };

  return {
    ...(own.dialect === "sqlite"
      ? { maxConcurrentDeliveries: 1 }
      : concurrencyOfPool(own.connections)),

    remembersRecords: true,

    async process(key, work, processOptions) {
      const { recordKey } = processOptions;
      if (running.has(key)) return inFlight(RETRY_AFTER_MS);
      if (recordKey !== undefined && running.has(recordKey)) {
        return { ...inFlight(RETRY_AFTER_MS), sameRecord: true };
      }
      const keys = recordKey === undefined ? [key] : [key, recordKey];
      for (const one of keys) running.add(one);
      let hasRun = false;
      const run = async (): Promise<ProcessResult> => {
        // Not one promise for all: if it hung on a connection that is dead, every later delivery would.
        if (!isProven) await prove();
        isProven = true;
        return retryConflicts(
          () => attempt(key, work, processOptions, () => (hasRun = true)),
          (error) => !hasRun && isConflict(error),
        );
      };
      try {
        return await (own.dialect === "sqlite" ? inTurn(run) : run());
      } finally {
        for (const one of keys) running.delete(one);
      }
    },
  };
}

/** The ORM may log it, so it says what it is. */
const NOTHING_TO_COMMIT = "identity-gateway-webhooks: the transaction is rolled back";

/** A key, and who writes its row. */
interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly retentionMs: number;
}

type Refusal = Exclude<ProcessResult, { state: "processed" }>;
type Begun = { readonly facts: WorkFacts } | { readonly refused: Refusal | undefined };
/** How the callback of a transaction ended: with a result, or with the handler's error. */
type Ending = { readonly result: ProcessResult | undefined } | { readonly error: unknown };

/** Whether the transaction had something to commit. */
function isCommitted(ending: Ending): boolean {
  if ("error" in ending || ending.result === undefined) return false;
  const { result } = ending;
  return (
    result.state === "processed" || (result.state === "completed" && result.sameRecord === true)
  );
}

function checked<Tx>(options: SqlTransactionsOptions<Tx>): SqlTransactionsOptions<Tx> {
  const known = ["dialect", "transaction", "query", "connections", "table"];
  const own = ownOptions("sqlTransactions", options, known);
  const { dialect, connections } = own as { dialect: unknown; connections: unknown };
  checkDialect(dialect);
  requireMethods(own, ["transaction", "query"], (missing) => `${missing} must be a function`);
  if (dialect === "sqlite") {
    if (connections === undefined || connections === 1) return own;
    throw invalidOption("leave connections out: SQLite has one writer");
  }
  if (!Number.isInteger(connections) || Number(connections) < 1) {
    throw invalidOption(
      "connections must be the number of connections that the ORM has in this process, from 1",
    );
  }
  return own;
}
