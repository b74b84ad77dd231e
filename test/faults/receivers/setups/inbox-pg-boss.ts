import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { inboxConsume } from "identity-gateway-webhooks/inbox";
import { pgBossQueue } from "identity-gateway-webhooks/pg-boss";
import { postgresStore } from "identity-gateway-webhooks/postgres";
import { withQueue } from "../inbox-receiver.js";
import { notingCompletions } from "../observe.js";
import { QUEUE } from "../receiver-config.js";

/** The store of the worker is on the same server. */
export const makeReceiver = withQueue(async ({ port, holdMs }, ledger, workers) => {
  const server = { host: "127.0.0.1", port, user: "postgres", database: "postgres", max: 4 };
  const boss = await startPgBoss(server);
  const pool = new pg.Pool(server);
  pool.on("error", () => undefined);
  const driver = pgBossQueue({
    boss: impatient(boss, holdMs),
    queueName: QUEUE,
    pollIntervalMs: 100,
    // A job that is put between the two calls of `impatient` has it.
    heartbeatMs: 10_000,
  });
  inboxConsume({
    driver,
    store: notingCompletions(postgresStore({ pool }), ledger),
    concurrency: 20,
    leaseMs: holdMs,
    dependencyTimeoutMs: 700,
    retryDelayMs: 1_000,
    ...workers,
  });
  return driver;
});

/** pg-boss holds the job of a crashed worker for 10 s at least, which is long for a run of the lab. */
function impatient(boss: PgBoss, holdMs: number): PgBoss {
  const update = boss.updateQueue.bind(boss);
  const hold = `UPDATE pgboss.queue SET heartbeat_seconds = $2, retry_delay = 1 WHERE name = $1`;
  boss.updateQueue = async (name, settings) => {
    await update(name, settings);
    await boss.getDb().executeSql(hold, [name, Math.ceil(holdMs / 1_000)]);
  };
  return boss;
}

const EACH_SECOND = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 };

/** Retries until the server is up. */
async function startPgBoss(server: object): Promise<PgBoss> {
  for (;;) {
    const boss = new PgBoss({ ...server, schedule: false, ...EACH_SECOND });
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
