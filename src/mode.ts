import type { DeliveryHeaders } from "./headers.js";
import { createLeaseMode } from "./lease-mode.js";
import type { MaybeLater } from "./maybe-promise.js";
import type { Ending, Reporter, Trace } from "./report.js";
import type { Run } from "./run-handler.js";
import type { Running } from "./running.js";
import type { Settings } from "./settings.js";
import type { DeliveryStore } from "./stores/delivery-store.js";
import type { TransactionalStore } from "./stores/transactional-store.js";
import { createTransactionMode } from "./transaction-mode.js";

/** A request whose headers and body are at hand. */
export interface Delivery {
  readonly headers: DeliveryHeaders;
  readonly rawBody: Uint8Array;
  readonly trace: Trace;
}

/** How a delivery is handled once. */
export interface Mode {
  /** Runs the handler unless the store knows better. Neither throws nor rejects. */
  readonly handle: (delivery: Delivery, run: Run) => MaybeLater<Ending>;
  /** Tells the store what it does not know yet, as far as it takes it. Never rejects. */
  readonly flush: () => Promise<void>;
}

/** The mode that the store is made for. */
export function createMode(settings: Settings, running: Running, log: Reporter["log"]): Mode {
  const { store } = settings;
  return isTransactional(store)
    ? createTransactionMode(store, settings, running, log)
    : createLeaseMode(store, settings, running, log);
}

function isTransactional(
  store: DeliveryStore | TransactionalStore<unknown>,
): store is TransactionalStore<unknown> {
  return typeof (store as Partial<TransactionalStore<unknown>>).process === "function";
}
