import { setTimeout as wait } from "node:timers/promises";
import PgBoss from "pg-boss";
import {
  pgBossConsume,
  pgBossEnqueue,
  type Enqueue,
  type PgBossConsumeOptions,
} from "identity-gateway-webhooks/pg-boss";
import type { Workers } from "./inbox-receiver.js";
import type { Ledger } from "./ledger.js";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** Opens the queue and starts its worker. Records in the ledger when pg-boss has stored a result. */
export async function openPgBoss(
  { port, holdMs }: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): Promise<Enqueue> {
  const boss = await startPgBoss(port);
  const noting: PgBossConsumeOptions["boss"] = {
    fetch: (name, options) => boss.fetch(name, options),
    getDb: () => ({
      async executeSql(text, values) {
        const result = await boss.getDb().executeSql(text, values);
        const [, id] = values;
        // A stopped PgBoss returns undefined.
        const { rows = [] } = Object(result) as { readonly rows?: unknown[] };
        const isCompleted = text.includes("state = 'completed'") && rows.length > 0;
        if (isCompleted && typeof id === "string") ledger.write({ kind: "settled", id });
        return result;
      },
    }),
  };
  pgBossConsume({
    boss: noting,
    queueName: QUEUE,
    concurrency: 20,
    pollIntervalMs: 100,
    ...workers,
  });
  const retries = { retryLimit: 100, retryDelayMs: 1_000 };
  return pgBossEnqueue({ boss, queueName: QUEUE, expireInMs: holdMs, ...retries });
}

/** Retries until the server is up. */
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
