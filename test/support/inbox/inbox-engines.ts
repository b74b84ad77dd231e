import {
  createPostgresBackend,
  Queue,
  withBackend,
  Worker,
  type QueueOptions,
  type WorkerOptions,
} from "bullmq";
import { Redis } from "ioredis";
import { PgBoss } from "pg-boss";
import { bullmqQueue } from "../../../src/inbox/bullmq/index.js";
import type { PgBossClient } from "../../../src/inbox/pg-boss/client.js";
import { pgBossQueue, type PgBossQueueOptions } from "../../../src/inbox/pg-boss/index.js";
import { describeService } from "../describe-service.js";
import { hasNatsServer } from "../nats/nats-server.js";
import { hasPostgres, startPostgres } from "../postgres/postgres-server.js";
import { hasRabbitmq } from "../rabbitmq/rabbitmq-server.js";
import { hasRedisServer, startRedisServer } from "../redis/redis-server.js";
import { startedForAll } from "../started-for-all.js";

/** How long an engine holds the message of a crashed worker in the tests. */
export const HOLD_MS = 2_000;

/** `describe` for tests on an engine. Skips them if a server that it needs is not installed. */
const describeOn =
  (servers: string, isThere: boolean) =>
  (title: string, body: () => void): void =>
    describeService(title, isThere ? undefined : `${servers} is not on this machine`, body);

export const describePgBoss = describeOn("PostgreSQL", hasPostgres);
export const describeBullmq = describeOn("Redis", hasRedisServer);
// The store of their workers is in Redis.
export const describeNats = describeOn("NATS or Redis", hasNatsServer && hasRedisServer);
export const describeRabbitmq = describeOn("RabbitMQ or Redis", hasRabbitmq && hasRedisServer);

type PgBossEngine = Awaited<ReturnType<typeof startPgBossEngine>>;
type BullmqEngine = Awaited<ReturnType<typeof startBullmqEngine>>;

/** `describePgBoss` with a PgBoss that all its tests share. */
export function describeOnPgBoss(title: string, body: (engine: () => PgBossEngine) => void): void {
  describePgBoss(title, () => body(startedForAll(startPgBossEngine)));
}

/** `describeBullmq` with a Redis that all its tests share. */
export function describeOnBullmq(title: string, body: (engine: () => BullmqEngine) => void): void {
  describeBullmq(title, () => body(startedForAll(startBullmqEngine)));
}

/** Starts pg-boss, which looks for crashed workers every second instead of every minute. */
export async function startPgBoss(connectionString: string): Promise<PgBoss> {
  const often = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 };
  const boss = new PgBoss({ connectionString, schedule: false, ...often });
  boss.on("error", () => undefined);
  await boss.start();
  return boss;
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

/** The same PgBoss, whose queues hold the job of a crashed worker for a shorter time than pg-boss allows. */
function impatient(boss: PgBoss): PgBossClient {
  const client: PgBossClient = boss;
  return overriding(client, {
    async updateQueue(name, settings) {
      await client.updateQueue(name, settings);
      const sql = `UPDATE pgboss.queue SET heartbeat_seconds = ${HOLD_MS / 1_000}, retry_delay = 1 WHERE name = $1`;
      await boss.getDb().executeSql(sql, [name]);
    },
  });
}

/** The connection string of a test's own server. */
export function postgresUrl(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** Starts a PgBoss and its server. */
async function startPgBossEngine() {
  const server = await startPostgres();
  const url = postgresUrl(server.port);
  const boss = await startPgBoss(url);
  const sql = async (text: string, ...values: unknown[]): Promise<unknown[]> =>
    (await boss.getDb().executeSql(text, values)).rows as unknown[];
  return {
    url,
    server,
    boss,
    /** The rows of a statement on its database. */
    sql,
    /** Opens a queue. `client`: calls something else than the PgBoss. */
    open(
      queueName: string,
      options: Partial<PgBossQueueOptions> = {},
      wrap = (client: PgBossClient) => client,
    ) {
      return pgBossQueue({
        boss: wrap(impatient(boss)),
        queueName,
        pollIntervalMs: 100,
        ...options,
      });
    },
    async jobs(queueName: string): Promise<number> {
      return (await sql("SELECT FROM pgboss.job WHERE name = $1", queueName)).length;
    },
    /** Everything that it has stored. */
    dump: async (): Promise<Buffer> => {
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

/** Locks short enough for a test, and long enough for a worker on a busy machine. */
const SHORT_LOCKS = { lockDuration: 5_000, stalledInterval: 500, drainDelay: 1 };

/** The classes of a backend of BullMQ. */
type BullmqClasses = Pick<ReturnType<typeof withBackend>, "Queue" | "Worker">;

/** Opens a queue that fails fast when its Redis is away. */
export function openBullmqQueue(
  name: string,
  port: number,
  options: Partial<WorkerOptions> = {},
  queueOptions: Partial<QueueOptions> = {},
) {
  const connection = { host: "127.0.0.1", port };
  const made = openBullmq(
    { Queue, Worker },
    name,
    { connection: { ...connection, enableOfflineQueue: false }, ...queueOptions },
    { connection, ...SHORT_LOCKS, ...options },
  );
  return { ...made, queue: made.queue as unknown as Queue };
}

function openBullmq(
  classes: BullmqClasses,
  name: string,
  queueOptions: QueueOptions<unknown>,
  workerOptions: WorkerOptions<unknown>,
) {
  const queue = new classes.Queue(name, queueOptions);
  queue.on("error", () => undefined);
  /** A client of the queue, as another process has it. */
  const newClient = () => {
    const workers: { disconnect(): Promise<unknown> }[] = [];
    class KillableWorker extends classes.Worker {
      constructor(queueName: string, processor: undefined, own: object) {
        super(queueName, processor, own as WorkerOptions<unknown>);
        workers.push(this);
      }
    }
    return {
      driver: bullmqQueue({ queue, Worker: KillableWorker, workerOptions }),
      kill: async () => {
        await Promise.all(workers.map((worker) => worker.disconnect()));
      },
    };
  };
  return { queue, newClient, ...newClient() };
}

/** `describe` with a PostgreSQL in which BullMQ keeps its jobs. */
export function describeOnBullmqPostgres(
  title: string,
  body: (engine: () => BullmqPostgresEngine) => void,
): void {
  describePgBoss(title, () => body(startedForAll(startBullmqPostgresEngine)));
}

type BullmqPostgresEngine = Awaited<ReturnType<typeof startBullmqPostgresEngine>>;

async function startBullmqPostgresEngine() {
  const server = await startPostgres();
  const connectionString = postgresUrl(server.port);
  const classes = withBackend(createPostgresBackend) as unknown as BullmqClasses;
  const queues: { close(): Promise<unknown> }[] = [];
  return {
    /** Opens a queue. It is closed with the engine. `isMigrated`: with the tables of BullMQ. */
    open(name: string, isMigrated = true) {
      const connection = { connectionString, migrate: isMigrated };
      const locks = { ...SHORT_LOCKS, lockDuration: HOLD_MS / 2, stalledInterval: HOLD_MS / 2 };
      const opened = openBullmq(classes, name, { connection }, { connection, ...locks });
      queues.push(opened.queue);
      return opened;
    },
    async close() {
      await Promise.all(queues.map((queue) => queue.close().catch(() => undefined)));
      await server.close();
    },
  };
}

/** Starts a Redis that writes every job to disk before it answers. */
async function startBullmqEngine() {
  const settings = { appendonly: "yes", appendfsync: "always", "maxmemory-policy": "noeviction" };
  const server = await startRedisServer(settings);
  const connection = { host: "127.0.0.1", port: server.port };
  const redis = new Redis(connection);
  redis.on("error", () => undefined);
  const queues: Queue[] = [];
  return {
    server,
    redis,
    connection,
    /** Opens a queue. It is closed with the engine. */
    async open(
      name: string,
      options?: Partial<WorkerOptions>,
      queueOptions?: Partial<QueueOptions>,
    ) {
      const opened = openBullmqQueue(name, server.port, options, queueOptions);
      queues.push(opened.queue);
      await opened.queue.waitUntilReady();
      return opened;
    },
    /** Everything that it has stored. */
    dump: async (): Promise<Buffer> => {
      await redis.config("SET", "rdbcompression", "no");
      const keys = await redis.keys("*");
      const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
      // A key may expire between the two commands.
      const kept = values.filter((value) => (value as Buffer | null) !== null);
      return Buffer.concat([Buffer.from(keys.join("\n")), ...kept]);
    },
    async close() {
      redis.disconnect();
      await Promise.all(queues.map((queue) => queue.close()));
      await server.close();
    },
  };
}
