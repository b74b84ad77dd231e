import { startBackgroundTimer } from "../common/timers.js";
import { createContext, LazySignal } from "./delivery-context.js";
import { startHandlerTimeout } from "./handler-timeout.js";
import type { Mode } from "./mode.js";
import type { Ending, Reporter } from "../answer/report.js";
import { HANDLED, runHandler, type HandlerResult } from "./run-handler.js";
import type { Settings } from "../options/settings.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { createTransact } from "./transaction.js";

/** Runs the handler of a delivery in a transaction of the store, which remembers the delivery too. */
export function createTransactionMode(
  store: TransactionalStore<unknown>,
  settings: Settings,
  log: Reporter["log"],
): Mode {
  const transact = createTransact(store, settings);
  /** Ids that are processed here: a redelivery is refused without taking a connection. */
  const inProgress = new Map<string, Heartbeat>();

  /** Rolled back with what the handler wrote, the delivery is remembered by a transaction of its own. */
  const remember = async (id: string, discarded: Ending): Promise<Ending> => {
    const ending = await transact(id, () => HANDLED, new LazySignal());
    const isRemembered = ending.outcome === "handled" || ending.outcome === "duplicate";
    return isRemembered ? discarded : ending;
  };

  return {
    handle({ headers: { id, type, timestampMs }, rawBody, trace }, run) {
      // Where a runtime has frozen or ended the first run, the store decides.
      if (inProgress.get(id)?.isOverdue() === false) return { outcome: "in_flight" };
      const heartbeat = startHeartbeat(settings.leaseMs);
      inProgress.set(id, heartbeat);
      const signal = new LazySignal();

      return new Promise((answer) => {
        const runIn = (tx: unknown, takeover: boolean): Promise<HandlerResult> =>
          new Promise((resolve, reject) => {
            if (takeover) trace.takeover = true;
            const stopTimeout = startHandlerTimeout(
              settings,
              (error) => {
                LazySignal.abort(signal, error);
                // With a store that runs the work again, the first run may have answered.
                answer({ outcome: "handler_timeout", error, late: settled });
              },
              // The store rolls back, and its connection is free again. The handler cannot be stopped.
              (error) => {
                resolve({ outcome: "handler_failed", error });
                void result.then((late) => {
                  const line = `${late.outcome}, but after handlerMaxMs: its transaction was rolled back`;
                  log("warn", line, { id, type, error: "error" in late ? late.error : undefined });
                });
              },
            );
            const timestamp = new Date(timestampMs);
            const context = createContext(id, type, timestamp, rawBody, takeover, signal);
            const result = Promise.resolve(runHandler(run, Object.assign(context, { tx })));
            void result.finally(stopTimeout).then(resolve, reject);
          });

        const settle = async (): Promise<Ending> => {
          let ending = await transact(id, runIn, signal);
          if (ending.outcome === "discarded") ending = await remember(id, ending);
          heartbeat.stop();
          if (inProgress.get(id) === heartbeat) inProgress.delete(id);
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

/** Tells whether the timers of a run are still called. */
interface Heartbeat {
  readonly isOverdue: () => boolean;
  readonly stop: () => void;
}

function startHeartbeat(leaseMs: number): Heartbeat {
  let aliveAt: number;
  let stopTimer: () => void;
  const beat = (): void => {
    aliveAt = performance.now();
    stopTimer = startBackgroundTimer(leaseMs / 3, beat);
  };
  beat();
  return {
    isOverdue: () => performance.now() - aliveAt > leaseMs / 3 + 2 * leaseMs,
    stop() {
      stopTimer();
    },
  };
}
