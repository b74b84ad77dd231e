import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import PgBoss from "pg-boss";
import { inboxConsume, type QueueProducer } from "identity-gateway-webhooks/inbox";
import { pgBossQueue } from "identity-gateway-webhooks/pg-boss";
import { postgresStore } from "identity-gateway-webhooks/postgres";
import type { Workers } from "./inbox-receiver.js";
import type { Ledger } from "./ledger.js";
import { notingCompletions } from "./observe.js";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** Opens the queue and starts its worker, whose store is on the same server. */
export async function openPgBoss(
  { port, holdMs }: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): Promise<QueueProducer> {
  const server = { host: "127.0.0.1", port, user: "postgres", database: "postgres", max: 4 };
  const boss = await startPgBoss(server);
  const pool = new pg.Pool(server);
  pool.on("error", () => undefined);
  const driver = pgBossQueue({
    ...{ boss, queueName: QUEUE, pollIntervalMs: 100, expireInMs: holdMs },
    ...{ retryLimit: 100, retryDelayMs: 1_000 },
  });
  inboxConsume({
    ...{ driver, store: notingCompletions(postgresStore({ pool }), ledger), concurrency: 20 },
    ...{ leaseMs: holdMs, dependencyTimeoutMs: 700, retryLimit: 100, retryDelayMs: 1_000 },
    ...workers,
  });
  return driver;
}

/** Retries until the server is up. */
async function startPgBoss(server: object): Promise<PgBoss> {
  for (;;) {
    const boss = new PgBoss({ ...server, schedule: false, maintenanceIntervalSeconds: 1 });
    boss.on("error", () => undefined);
    try {
      await boss.start();
      return boss;
    } catch {
      await boss.stop({ graceful: false }).catch(() => undefined);
      await wait(100);
    }
  }
}
