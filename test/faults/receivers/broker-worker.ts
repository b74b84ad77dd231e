import Database from "better-sqlite3";
import { inboxConsume, type QueueDriver, type QueueMessage } from "identity-gateway-webhooks/inbox";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";
import type { DeadDeliveries } from "identity-gateway-webhooks/nats";
import { withQueue } from "./inbox-receiver.js";
import { notingCompletions } from "./observe.js";
import type { ReceiverConfig } from "./receiver-config.js";
import type { MakeReceiver } from "./work.js";

type BrokerQueue = QueueDriver<unknown> & DeadDeliveries;

/** `withQueue` for a broker that keeps no records, so the store of all workers is a file. */
export function withBroker(
  open: (config: ReceiverConfig) => BrokerQueue | Promise<BrokerQueue>,
): MakeReceiver {
  return withQueue(async (config, ledger, workers) => {
    const driver = await open(config);
    const store = sqliteStore({ database: new Database(config.databaseFile) });
    const isForgetful = config.flaw === "forgets the crashes of a postponed job";
    inboxConsume({
      driver: isForgetful ? forgetful(driver) : driver,
      store: notingCompletions(store, ledger),
      concurrency: 20,
      leaseMs: config.holdMs,
      retryDelayMs: 1_000,
      dependencyTimeoutMs: 700,
      ...workers,
    });
    return driver;
  });
}

/** A driver that begins to count crashes anew when another worker has the job. */
function forgetful(driver: QueueDriver<unknown>): QueueDriver<unknown> {
  return {
    ...driver,
    receive(run, options) {
      const forgetting: typeof run = (message) => {
        const settle: QueueMessage["settle"] = (settlement) =>
          message.settle(
            settlement.result === "retry" ? { ...settlement, isLeased: undefined } : settlement,
          );
        return run({ ...message, settle });
      };
      if (driver.receive === undefined) throw new Error("the driver cannot receive");
      return driver.receive(forgetting, options);
    },
  };
}
