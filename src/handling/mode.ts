import type { DeliveryHeaders } from "../delivery/headers.js";
import { createLeaseMode } from "./lease-mode.js";
import type { MaybeLater } from "../common/promises.js";
import type { Ending, Reporter, Trace } from "../answer/report.js";
import type { Run } from "./run-handler.js";
import type { Settings } from "../options/settings.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { tellTimeLimit } from "../stores/time-limit-hook.js";
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
  /** Tells the store what it does not know yet, as far as it takes it in time. Never rejects. */
  readonly flush: (timeoutMs: number) => Promise<void>;
}

/** The mode that the store is made for. */
export function createMode(settings: Settings, log: Reporter["log"]): Mode {
  const { store } = settings;
  tellTimeLimit(store, settings.dependencyTimeoutMs);
  return isTransactional(store)
    ? createTransactionMode(store, settings, log)
    : createLeaseMode(store, settings, log);
}

function isTransactional(
  store: DeliveryStore | TransactionalStore<unknown>,
): store is TransactionalStore<unknown> {
  return typeof (store as Partial<TransactionalStore<unknown>>).process === "function";
}
