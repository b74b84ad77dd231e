import { setTimeout as wait } from "node:timers/promises";
import PgBoss from "pg-boss";
import {
  pgBossConsume,
  pgBossEnqueue,
  type Enqueue,
  type PgBossConsumer,
} from "identity-gateway-webhooks/pg-boss";
import type { Workers } from "./inbox-receiver.js";
import type { Ledger } from "./ledger.js";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** Opens the queue and works it. Notes in the ledger what pg-boss has taken of a verdict. */
export async function openPgBoss(
  { port, holdMs }: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): Promise<Enqueue> {
  const boss = await startPgBoss(port);
  const noting: PgBossConsumer = {
    fetch: (name, options) => boss.fetch(name, options),
    getDb: () => boss.getDb(),
    async complete(name, id) {
      await boss.complete(name, id);
      ledger.write({ kind: "settled", id });
    },
  };
  pgBossConsume({ boss: noting, queue: QUEUE, concurrency: 20, pollIntervalMs: 100, ...workers });
  const retries = { retryLimit: 100, retryDelayMs: 1_000 };
  return pgBossEnqueue({ boss, queue: QUEUE, expireInMs: holdMs, ...retries });
}

/** Tried until the server is there: it may be down just now. */
async function startPgBoss(port: number): Promise<PgBoss> {
  for (;;) {
    const boss = new PgBoss({
      ...{ host: "127.0.0.1", port, user: "postgres", database: "postgres", max: 4 },
      ...{ schedule: false, maintenanceIntervalSeconds: 1 },
    });
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
