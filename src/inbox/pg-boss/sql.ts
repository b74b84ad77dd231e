import { invalidOption } from "../../common/errors.js";
import { QueueError } from "../queue-error.js";
import { checkBoss, checkQueueName, DEFAULT_QUEUE_NAME } from "../queue-options.js";
import type { PgBossDatabase } from "./client.js";

/** The options that name a queue. */
interface QueueOptions {
  readonly boss: PgBossDatabase;
  readonly queueName?: string | undefined;
  readonly schema?: string | undefined;
}

/** pg-boss's own rule. The name becomes part of statements, where no parameter can stand for it. */
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/;

/** A queue of pg-boss, and the schema of its tables. */
export interface PgBossQueue {
  readonly name: string;
  readonly schema: string;
  /**
   * Runs one statement on a connection of pg-boss and returns its rows. `$1` is the name of the queue. Rejects
   * if the database does, or if pg-boss is stopped.
   */
  run(text: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** The queue that the options name. Throws `ConfigurationError` for a wrong option. */
export function queueOf(
  { boss, queueName = DEFAULT_QUEUE_NAME, schema = "pgboss" }: QueueOptions,
  methods: readonly string[],
): PgBossQueue {
  checkBoss(boss, methods);
  checkQueueName("queueName", queueName);
  if (typeof schema !== "string" || !SCHEMA.test(schema)) {
    throw invalidOption("schema must be the name of pg-boss's schema");
  }
  return {
    name: queueName,
    schema,
    async run(text, ...values) {
      const result = (await boss.getDb().executeSql(text, [queueName, ...values])) as
        { rows: unknown[] } | undefined;
      // A stopped PgBoss resolves to undefined and does nothing.
      if (result === undefined) throw new QueueError("pg-boss is stopped");
      return result.rows as Record<string, unknown>[];
    },
  };
}

/**
 * SQL for the name of the dead letter queue of the queue `$1`, as pg-boss has stored it. If it has stored
 * none, the default of `pgBossEnqueue`.
 */
export function deadLetterQueueOf(schema: string): string {
  return `COALESCE((SELECT q.dead_letter FROM ${schema}.queue q WHERE q.name = $1), $1 || '-dead')`;
}

/** SQL for "this row of the job table is a waiting dead letter of the queue `$1`". */
export function isDeadLetterOf(schema: string): string {
  return `name = ${deadLetterQueueOf(schema)} AND state < 'active'`;
}

/** SQL for the id and type of the delivery in a job, without its body. */
export const DELIVERY_NAME = "jsonb_build_object('id', data->'id', 'type', data->'type')";

/** SQL for the text of the error with which a job failed. pg-boss wraps what is not an object in `value`. */
export const ERROR_MESSAGE = "COALESCE(output->>'message', output->'value'->>'message')";

/** SQL for how long the oldest due job of the queue `$1` has waited, in milliseconds as `ms`; null for none. */
export function oldestWaitOf(schema: string): string {
  return (
    `SELECT EXTRACT(EPOCH FROM now() - min(start_after)) * 1000 AS ms FROM ${schema}.job ` +
    "WHERE name = $1 AND state < 'active' AND start_after <= now()"
  );
}
