import type { DeliveryContext, ProcessResult, TransactionalStore } from "../../../src/index.js";
import { createCollector } from "../collector.js";
import { transactionalReceiver, type TransactionalOptions } from "./transactional-receiver.js";

/** A transaction of the simulated database. */
export interface SimulatedTx {
  /** Writes an effect, which others see once it is committed. */
  readonly write: (effect: string) => void;
}

/** Where a transaction can be held up or fail: what these reject with, the database does. */
export interface DatabaseFaults {
  /** Before a connection is there. */
  connect?: (() => Promise<void>) | undefined;
  /** At COMMIT, which is not done. */
  commit?: (() => Promise<void>) | undefined;
  /** After COMMIT: only its answer can be lost. */
  committed?: (() => Promise<void>) | undefined;
  /** At ROLLBACK, which is done whatever happens. */
  rollback?: (() => Promise<void>) | undefined;
}

/** Makes an empty database in memory with a transactional store on it. `faults` is read at each step, so that a test may change it. */
export function createDatabase(faults: DatabaseFaults = {}) {
  /** What is committed, in order. */
  const effects: string[] = [];
  /** What is remembered, and for how many milliseconds. */
  const remembered = new Map<string, number>();
  const locks = new Set<string>();
  /** The keys of each call of `process`. */
  const calls: string[] = [];

  const store: TransactionalStore<SimulatedTx> = {
    remembersRecords: true,
    async process(key, work, { retentionMs, recordKey = key }): Promise<ProcessResult> {
      calls.push(key);
      await faults.connect?.();
      if (remembered.has(key)) return { state: "completed" };
      if (locks.has(key)) return { state: "in_flight", retryAfterMs: 2_000 };
      if (remembered.has(recordKey)) {
        remembered.set(key, retentionMs);
        return { state: "completed", sameRecord: true };
      }
      if (locks.has(recordKey))
        return { state: "in_flight", retryAfterMs: 2_000, sameRecord: true };
      const keys = new Set([key, recordKey]);
      for (const one of keys) locks.add(one);
      const written: string[] = [];
      try {
        await work({ write: (effect) => written.push(effect) });
        await faults.commit?.();
      } catch (error) {
        await faults.rollback?.();
        throw error;
      } finally {
        for (const one of keys) locks.delete(one);
      }
      effects.push(...written);
      for (const one of keys) remembered.set(one, retentionMs);
      await faults.committed?.();
      return { state: "processed" };
    },
  };
  return { store, effects, remembered, calls };
}

/** The context of handlers on the simulated database. */
export type SimulatedContext = DeliveryContext<SimulatedTx>;

/** A handler that writes the id of its delivery. */
export function writesId({ id, tx }: SimulatedContext): void {
  tx.write(id);
}

/** Makes a receiver on a database of its own and collects its reports and log lines. */
export function transactionalScene(
  handler: (context: SimulatedContext) => unknown,
  faults: DatabaseFaults = {},
  options: TransactionalOptions = {},
) {
  const database = createDatabase(faults);
  const { options: reporting, reports, lines } = createCollector();
  const receiver = transactionalReceiver(database.store, handler, { ...reporting, ...options });
  return { ...database, receiver, reports, lines };
}
