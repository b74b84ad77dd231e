import PgBoss from "pg-boss";
import {
  pgBossConsume,
  pgBossDeadDeliveries,
  pgBossEnqueue,
  type PgBossEnqueueOptions,
} from "../../../src/inbox/pg-boss/index.js";
import type { InboxEngine, InboxQueue } from "./inbox-engine.js";
import { startPostgres, type PostgresServer } from "../postgres/postgres-server.js";

/** Starts pg-boss with maintenance every second instead of every few minutes. */
export async function startPgBoss(url: string): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: url,
    schedule: false,
    maintenanceIntervalSeconds: 1,
  });
  boss.on("error", () => undefined);
  await boss.start();
  return boss;
}

/** A queue of a PgBoss, whose runs expire soon enough for a test. */
export function pgBossQueue(boss: PgBoss, name: string, retries = {}): InboxQueue {
  const count = async (condition: string): Promise<number> => {
    const sql = `SELECT count(*)::int AS count FROM pgboss.job WHERE name = $1 AND ${condition}`;
    const { rows } = await boss.getDb().executeSql(sql, [name]);
    return (rows as { count: number }[])[0]?.count ?? 0;
  };
  return {
    deadDeliveries: pgBossDeadDeliveries({ boss, queueName: name }),
    enqueue: pgBossEnqueue({ boss, queueName: name, expireInMs: 5_000, ...retries }),
    consume: (options) =>
      pgBossConsume({ boss, queueName: name, pollIntervalMs: 100, logger: false, ...options }),
    async put(data) {
      await boss.createQueue(`${name}-dead`);
      await boss.createQueue(name, { name, deadLetter: `${name}-dead`, retryLimit: 0 });
      await boss.send(name, data);
    },
    jobs: () => count("true"),
    completed: () => count("state = 'completed'"),
    async dead() {
      const sql = "SELECT data, output FROM pgboss.job WHERE name = $1 ORDER BY created_on";
      const { rows } = await boss.getDb().executeSql(sql, [`${name}-dead`]);
      return (rows as { data: unknown; output: { message?: string } }[]).map((row) => ({
        data: row.data,
        error: String(row.output.message),
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
  readonly open: (queue: string, options?: Partial<PgBossEnqueueOptions>) => Promise<InboxQueue>;
}

/** Starts a PgBoss and its server. */
export async function startPgBossEngine(): Promise<PgBossEngine> {
  const server = await startPostgres();
  const url = postgresUrl(server.port);
  const boss = await startPgBoss(url);
  const sql: PgBossEngine["sql"] = async (text, ...values) =>
    (await boss.getDb().executeSql(text, values)).rows as unknown[];
  return {
    ...{ url, server, boss, sql },
    kill: () => server.stop("crash"),
    start: server.start,
    open: (name, options) => Promise.resolve(pgBossQueue(boss, name, options)),
    async dump() {
      const tables = await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'pgboss'");
      const rows = await Promise.all(
        (tables as { tablename: string }[]).map(({ tablename }) =>
          sql(`SELECT t::text AS row FROM pgboss."${tablename}" t`),
        ),
      );
      return Buffer.from((rows.flat() as { row: string }[]).map(({ row }) => row).join("\n"));
    },
    async close() {
      await boss.stop({ graceful: false });
      await server.close();
    },
  };
}
