import { vi } from "vitest";
import type { OutcomeReport, TransactionalStore } from "../../../src/index.js";
import { deferred } from "../deferred.js";
import { delivery } from "../deliveries.js";
import { transactionalReceiver } from "./transactional-receiver.js";

/** The work that a receiver passes to a store. */
export type Work = (tx: string) => Promise<void>;
type Handler = (tx: string, signal: AbortSignal) => unknown;

/** Delivers once to a store with the given method `process`. The timers must be fake. */
export async function deliverToStore(
  process: (work: Work) => unknown,
  handler: Handler = () => undefined,
) {
  const called = deferred();
  const store = {
    process(_key, work) {
      called.resolve();
      return process(work);
    },
  } as TransactionalStore<string>;
  const reports: OutcomeReport[] = [];
  const ran: string[] = [];
  const receiver = transactionalReceiver(
    store,
    ({ tx, signal }) => {
      ran.push(tx);
      return handler(tx, signal);
    },
    {
      handlerTimeoutMs: 2_000,
      dependencyTimeoutMs: 500,
      onOutcome: (report) => reports.push(report),
    },
  );
  const response = receiver.receive(await delivery());
  await called.promise;
  await vi.advanceTimersByTimeAsync(10_000);
  return { response: await response, error: reports[0]?.error, ran, receiver };
}
