import type { StartEngine } from "./engines/engine.js";
import type { Contenders, OurChoice } from "./receivers/contender.js";

/** One row of the lab: an engine, and how receivers use it. */
interface Row {
  readonly start: () => Promise<StartEngine>;
  /** Loaded in the receiver's process only, with its driver. */
  readonly contenders: () => Promise<Contenders>;
  /** What the hand-written receiver writes, in Markdown. */
  readonly byHand: string;
}

const postgresEngine = async (): Promise<StartEngine> =>
  (await import("./engines/postgres.js")).startPostgresEngine;
const redisEngine = async (): Promise<StartEngine> =>
  (await import("./engines/redis.js")).startRedisEngine;

const noEngine = (): Promise<StartEngine> =>
  Promise.resolve(() =>
    Promise.resolve({
      port: undefined,
      folder: "",
      databaseOf: () => "",
      syncs: undefined,
      bytes: () => Promise.resolve(0),
      remember: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }),
  );

/** All rows, by their name in the tables. */
export const ROWS = {
  memoryStore: {
    start: noEngine,
    contenders: () =>
      Promise.resolve({
        ours: (): Promise<OurChoice> => Promise.resolve({}),
        byHand: () => Promise.resolve(undefined),
      }),
    byHand: "an empty handler",
  },
  "PostgreSQL, pg": {
    start: postgresEngine,
    contenders: async () => (await import("./receivers/postgres.js")).throughStore(),
    byHand: "`INSERT … ON CONFLICT DO UPDATE`, `UPDATE`",
  },
  "PostgreSQL, pg, `prepare: true`": {
    start: postgresEngine,
    contenders: async () => (await import("./receivers/postgres.js")).throughStore(true),
    byHand: "`INSERT … ON CONFLICT DO UPDATE`, `UPDATE`",
  },
  "MariaDB, mysql2": {
    start: async () => (await import("./engines/mariadb.js")).startMariadbEngine,
    contenders: async () => (await import("./receivers/mariadb.js")).throughMysql2,
    byHand: "`INSERT IGNORE`, `UPDATE`",
  },
  "SQLite, better-sqlite3": {
    start: async () => (await import("./engines/sqlite.js")).startSqliteEngine,
    contenders: async () => (await import("./receivers/sqlite.js")).throughBetterSqlite3,
    byHand: "`INSERT … ON CONFLICT DO UPDATE`, `UPDATE`",
  },
  "Redis, ioredis": {
    start: redisEngine,
    contenders: async () => (await import("./receivers/redis.js")).throughIoredis,
    byHand: "`SET NX PX`, `SET PX`",
  },
  "Redis, node-redis": {
    start: redisEngine,
    contenders: async () => (await import("./receivers/redis.js")).throughNodeRedis,
    byHand: "`SET NX PX`, `SET PX`",
  },
  "postgresTransactions, pg": {
    start: postgresEngine,
    contenders: async () => (await import("./receivers/postgres.js")).throughTransactions(),
    byHand: "`BEGIN`, advisory lock, `INSERT`, `COMMIT`",
  },
  "postgresTransactions, pg, `prepare: true`": {
    start: postgresEngine,
    contenders: async () => (await import("./receivers/postgres.js")).throughTransactions(true),
    byHand: "`BEGIN`, advisory lock, `INSERT`, `COMMIT`",
  },
  "pg-boss 12": {
    start: postgresEngine,
    contenders: async () => (await import("./receivers/queues.js")).besideSend,
    byHand: "`boss.send`",
  },
  "BullMQ 6": {
    start: redisEngine,
    contenders: async () => (await import("./receivers/queues.js")).besideAdd,
    byHand: "`queue.add`",
  },
  "NATS JetStream": {
    start: async () => (await import("./engines/brokers.js")).startNatsEngine,
    contenders: async () => (await import("./receivers/queues.js")).besidePublish,
    byHand: "`jetstream.publish`",
  },
  RabbitMQ: {
    start: async () => (await import("./engines/brokers.js")).startRabbitmqEngine,
    contenders: async () => (await import("./receivers/queues.js")).besideConfirmChannel,
    byHand: "`sendToQueue` on a confirm channel",
  },
} as const satisfies Record<string, Row>;

/** The name of a row. */
export type RowName = keyof typeof ROWS;

/** The rows of `npm run bench -- queues`. */
export const QUEUES: readonly RowName[] = ["pg-boss 12", "BullMQ 6", "NATS JetStream", "RabbitMQ"];
/** The rows of `npm run bench -- partner`. */
export const STORES = (Object.keys(ROWS) as RowName[]).filter((name) => !QUEUES.includes(name));
/** The rows of `npm run bench -- stores`: without an engine there is nothing to compare. */
const DURABLE = STORES.filter((name) => name !== "memoryStore");

/** The names that contain one of the words, or all names if there are no words. */
export function rowsNamed(
  words: readonly string[],
  names: readonly RowName[] = DURABLE,
): readonly RowName[] {
  if (words.length === 0) return names;
  return names.filter((name) => words.some((word) => name.toLowerCase().includes(word)));
}
