import Database from "better-sqlite3";
import { inboxConsume, type QueueDriver } from "identity-gateway-webhooks/inbox";
import { sqliteStore } from "identity-gateway-webhooks/sqlite";
import type { Workers } from "./inbox-receiver.js";
import type { Ledger } from "./ledger.js";
import { notingCompletions } from "./observe.js";
import type { ReceiverConfig } from "./receiver-config.js";

/** Starts the worker of a broker that keeps no records, so the store of all workers is a file. */
export function startBrokerWorker(
  driver: QueueDriver<unknown>,
  { databaseFile, holdMs }: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): QueueDriver<unknown> {
  const store = sqliteStore({ database: new Database(databaseFile) });
  inboxConsume({
    ...{ driver, store: notingCompletions(store, ledger), concurrency: 20, leaseMs: holdMs },
    ...{ retryLimit: 100, retryDelayMs: 1_000, dependencyTimeoutMs: 700 },
    ...workers,
  });
  return driver;
}
