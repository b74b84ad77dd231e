import { createContext, LazySignal } from "./delivery-context.js";
import { createHandlerTimeout } from "./handler-timeout.js";
import type { Mode } from "./mode.js";
import type { Ending, Reporter } from "./report.js";
import { HANDLED, runHandler, type HandlerResult } from "./run-handler.js";
import type { Running } from "./running.js";
import type { Settings } from "./settings.js";
import type { TransactionalStore } from "./stores/transactional-store.js";
import { createTransact } from "./transaction.js";

/** Runs the handler of a delivery in a transaction of the store, which remembers the delivery too. */
export function createTransactionMode(
  store: TransactionalStore<unknown>,
  settings: Settings,
  running: Running,
  log: Reporter["log"],
): Mode {
  const transact = createTransact(store, settings);
  const startTimeout = createHandlerTimeout(running, settings.handlerTimeoutMs, log);
  /** Ids that are processed here right now: no copy is to take a connection only to be told so. */
  const inProgress = new Set<string>();

  /** Rolled back with what the handler wrote, the delivery is remembered by a transaction of its own. */
  const remember = async (id: string, discarded: Ending): Promise<Ending> => {
    const ending = await transact(id, () => HANDLED, new LazySignal());
    const isRemembered = ending.outcome === "handled" || ending.outcome === "duplicate";
    return isRemembered ? discarded : ending;
  };

  return {
    handle({ headers: { id, type, timestampMs }, rawBody, trace }, run) {
      if (inProgress.has(id)) return { outcome: "in_flight" };
      inProgress.add(id);
      const signal = new LazySignal();

      return new Promise((answer) => {
        const runIn = async (tx: unknown, takeover: boolean): Promise<HandlerResult> => {
          if (takeover) trace.takeover = true;
          const timer = startTimeout({ id, type, signal }, () => settled, answer);
          const timestamp = new Date(timestampMs);
          const context = createContext(id, type, timestamp, rawBody, takeover, signal);
          const result = await runHandler(run, Object.assign(context, { tx }));
          clearTimeout(timer);
          return result;
        };

        const settle = async (): Promise<Ending> => {
          let ending = await transact(id, runIn, signal);
          if (ending.outcome === "discarded") ending = await remember(id, ending);
          inProgress.delete(id);
          return ending;
        };

        // Where the handler's time passes first, the gateway is answered before.
        const settled = settle();
        void settled.then(answer);
      });
    },

    // What a handler has done is remembered with it, or not at all.
    flush: () => Promise.resolve(),
  };
}
