import { PgBoss } from "pg-boss";
import { inboxConsume } from "../../../src/inbox/index.js";
import type { PgBossClient } from "../../../src/inbox/pg-boss/client.js";
import { pgBossQueue, type PgBossQueueOptions } from "../../../src/inbox/pg-boss/index.js";
import type { RetryOptions } from "../../../src/inbox/queue-options.js";
import type { DeliveryStore } from "../../../src/index.js";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import type { InboxEngine, InboxQueue } from "./inbox-engine.js";
import { startPostgres, type PostgresServer } from "../postgres/postgres-server.js";

/** Starts pg-boss, which looks for crashed workers every second instead of every minute. */
export async function startPgBoss(url: string): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: url,
    schedule: false,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
  });
  boss.on("error", () => undefined);
  await boss.start();
  return boss;
}

/** Crashed workers must not hold a test up. */
const LEASE_MS = 2_000;
export const HOLD_MS = 2_000;

/** The same PgBoss, whose queues hold the job of a crashed worker for a shorter time than pg-boss allows. */
export function impatient(boss: PgBoss, holdMs = HOLD_MS): PgBossClient {
  const client: PgBossClient = boss;
  return overriding(client, {
    async updateQueue(name, settings) {
      await client.updateQueue(name, settings);
      const seconds = String(holdMs / 1_000);
      const sql = `UPDATE pgboss.queue SET heartbeat_seconds = ${seconds}, retry_delay = 1 WHERE name = $1`;
      await boss.getDb().executeSql(sql, [name]);
    },
  });
}

/** The same client with other methods in the place of some. */
export function overriding(client: PgBossClient, own: Partial<PgBossClient>): PgBossClient {
  return new Proxy(client, {
    get: (target, key) => {
      const method = Reflect.get(key in own ? own : target, key) as unknown;
      if (typeof method !== "function") return method;
      return method.bind(key in own ? own : target) as unknown;
    },
  });
}

/** What the tests change of a queue. */
export type TestQueueOptions = Partial<Omit<PgBossQueueOptions, "boss" | "queueName">> &
  RetryOptions;

/** A queue of a PgBoss, whose runs expire soon enough for a test. */
export function openPgBossQueue(
  boss: PgBoss,
  store: DeliveryStore,
  name: string,
  { retryLimit, retryDelayMs, ...options }: TestQueueOptions = {},
): InboxQueue {
  const client = impatient(boss);
  const driver = pgBossQueue({ boss: client, queueName: name, pollIntervalMs: 100, ...options });
  let finished = 0;
  return {
    deadDeliveries: driver,
    enqueue: driver,
    consume({ onJob, ...given }) {
      const { stop } = inboxConsume({
        driver,
        store,
        leaseMs: LEASE_MS,
        logger: false,
        retryLimit,
        retryDelayMs,
        ...given,
        onJob(report) {
          if (report.outcome === "handled" || report.outcome === "discarded") finished += 1;
          return onJob?.(report);
        },
      });
      return stop;
    },
    async put(data) {
      // Makes the queues.
      await driver.list();
      await boss.send(name, data);
    },
    async jobs() {
      const sql = "SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1";
      const { rows } = await boss.getDb().executeSql(sql, [name]);
      return (rows as { count: number }[])[0]?.count ?? 0;
    },
    completed: () => Promise.resolve(finished),
    async dead() {
      const sql = "SELECT data, output FROM pgboss.job WHERE name = $1 ORDER BY created_on";
      const { rows } = await boss.getDb().executeSql(sql, [`${name}-dead`]);
      return (rows as { data: unknown; output: { message?: string } | null }[]).map((row) => ({
        data: row.data,
        error: String(row.output?.message),
      }));
    },
  };
}

/** The connection string of a test's own server. */
export function postgresUrl(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** A started PgBoss on its own PostgreSQL server. */
export interface PgBossEngine extends InboxEngine {
  readonly server: PostgresServer;
  readonly boss: PgBoss;
  /** The rows of a statement on its database. */
  readonly sql: (text: string, ...values: unknown[]) => Promise<unknown[]>;
  readonly store: DeliveryStore;
  readonly open: (queue: string, options?: TestQueueOptions) => Promise<InboxQueue>;
}

/** Starts a PgBoss and its server. */
export async function startPgBossEngine(): Promise<PgBossEngine> {
  const server = await startPostgres();
  const url = postgresUrl(server.port);
  const boss = await startPgBoss(url);
  const store = postgresStore({ pool: server.pool() });
  await store.migrate();
  const sql: PgBossEngine["sql"] = async (text, ...values) =>
    (await boss.getDb().executeSql(text, values)).rows as unknown[];
  return {
    url,
    server,
    boss,
    store,
    sql,
    kill: () => server.stop("crash"),
    start: server.start,
    open: (name, options) => Promise.resolve(openPgBossQueue(boss, store, name, options)),
    async dump() {
      const tables = await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'pgboss'");
      const rows = await Promise.all(
        (tables as { tablename: string }[]).map(({ tablename }) =>
          sql(`SELECT t::text AS row FROM pgboss."${tablename}" t`),
        ),
      );
      rows.push(await sql("SELECT t::text AS row FROM gateway_deliveries t"));
      return Buffer.from((rows.flat() as { row: string }[]).map(({ row }) => row).join("\n"));
    },
    async close() {
      await boss.stop({ graceful: false });
      await server.close();
    },
  };
}
