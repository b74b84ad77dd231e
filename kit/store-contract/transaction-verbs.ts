import { GatewayWebhookError } from "../../src/common/errors.js";
import { setTimeout as wait } from "node:timers/promises";
import type {
  ProcessResult,
  TransactionalStore,
  WorkFacts,
} from "../../src/stores/transactional-store.js";
import type { TransactionalStoreUnderTest } from "./contract-case.js";
import type { Checks, OnClock } from "./run-rule.js";
import { clockOf, ensure, LONG_MS } from "./store-verbs.js";

/** Checks of the contract of `TransactionalStore`. */
export type TransactionChecks = Checks<string, TransactionVerbs>;

/** What a handler does in a case: it writes a row, and more with `more`. */
export interface Handler {
  /** The text of the row. Default the key. `null`: it writes nothing. */
  readonly row?: string | null;
  /** What it does after that. */
  readonly more?: (facts: WorkFacts | undefined) => Promise<void>;
  /** Default: it outlasts the case. */
  readonly retentionMs?: number;
  readonly recordKey?: string | undefined;
}

/** A call of a store that takes longer than this will never settle. */
const SETTLE_MS = 10_000;

/** The one method of a store, with expectations. */
export interface TransactionVerbs {
  /** Unit of the times in a case. */
  readonly unitMs: number;
  /** The same data through the other client. */
  readonly other: TransactionVerbs;
  readonly process: (key: string, handler?: Handler) => Promise<ProcessResult>;
  /** Expects that the handler runs and is committed. */
  readonly processed: (key: string, handler?: Handler) => Promise<void>;
  /** Expects that the key is known and no handler runs. */
  readonly completed: (key: string) => Promise<void>;
  /** Expects that the call rejects with the error of its handler, which writes a row before. */
  readonly failed: (key: string, error?: unknown, recordKey?: string) => Promise<void>;
  /** Expects exactly these rows. */
  readonly rows: (texts: readonly string[]) => Promise<void>;
  /** Moves the clock forward by a number of units. */
  readonly advance: (units: number) => Promise<void>;
  /** Moves the clock forward by a number of days. */
  readonly advanceDays: (days: number) => Promise<void>;
}

/** The methods of a store and of its other client. */
export function transactionVerbs<Tx>(
  made: OnClock<TransactionalStoreUnderTest<Tx>>,
  unitMs: number,
): TransactionVerbs {
  const { store, otherClient = store } = made;
  const first: TransactionVerbs = verbsOf(store, made, unitMs, () => second);
  const second: TransactionVerbs = verbsOf(otherClient, made, unitMs, () => first);
  return first;
}

function verbsOf<Tx>(
  store: TransactionalStore<Tx>,
  { write, written, advance }: OnClock<TransactionalStoreUnderTest<Tx>>,
  unitMs: number,
  other: () => TransactionVerbs,
): TransactionVerbs {
  const process: TransactionVerbs["process"] = (key, handler = {}) => {
    const { row = key, more, retentionMs = LONG_MS, recordKey } = handler;
    const work = async (tx: Tx, facts?: WorkFacts): Promise<void> => {
      if (row !== null) await write(tx, row);
      await more?.(facts);
    };
    return settled(key, store.process(key, work, { retentionMs, recordKey }));
  };
  return {
    unitMs,
    get other() {
      return other();
    },
    process,
    async processed(key, handler = {}) {
      let hasRun = false;
      const result = await process(key, {
        ...handler,
        async more(facts) {
          await handler.more?.(facts);
          // A store that does not wait for the handler answers before this.
          await wait(1);
          hasRun = true;
        },
      });
      ensure(result.state === "processed", `${key} must be processed`, result);
      ensure(hasRun, `the answer for ${key} must wait for its handler`, result);
    },
    async completed(key) {
      let hasRun = false;
      const result = await process(key, {
        row: `${key} again`,
        more() {
          hasRun = true;
          return Promise.resolve();
        },
      });
      ensure(result.state === "completed", `${key} must be completed`, result);
      ensure(!hasRun, `no handler may run for ${key}, which is completed`, result);
    },
    async failed(key, error = new Error("the handler failed"), recordKey) {
      const fail = (): Promise<never> => Promise.reject(error);
      const outcome = await process(key, { more: fail, recordKey }).then(
        (result) => ({ result }),
        (reason: unknown) => ({ reason }),
      );
      const isSame = "reason" in outcome && outcome.reason === error;
      const got = "result" in outcome ? outcome.result : { rejected: String(outcome.reason) };
      ensure(isSame, `process of ${key} must reject with the error of its handler`, got);
    },
    async rows(texts) {
      const rows = [...(await written())].sort();
      const isSame = JSON.stringify(rows) === JSON.stringify([...texts].sort());
      if (isSame) return;
      const [wanted, found] = [JSON.stringify(texts), JSON.stringify(rows)];
      const message = `the committed rows must be ${wanted}, but they are ${found}`;
      throw new GatewayWebhookError("contract_broken", message);
    },
    ...clockOf(advance, unitMs),
  };
}

/** Rejects if a call does not settle, so that a case ends before the time limit of its test runner. */
async function settled(key: string, call: Promise<ProcessResult>): Promise<ProcessResult> {
  const over = new AbortController();
  const late = wait(SETTLE_MS, undefined, { signal: over.signal }).then(() => {
    const message = `process of ${key} must settle, but it did not within ${SETTLE_MS} ms`;
    throw new GatewayWebhookError("contract_broken", message);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}
