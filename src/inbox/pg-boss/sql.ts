import type { PgBossClient } from "./client.js";
import { QueueError } from "../queue-error.js";

/** A queue of pg-boss, and the schema of its tables. */
export interface PgBossTables {
  readonly name: string;
  readonly schema: string;
  /**
   * Runs one statement on a connection of pg-boss and returns its rows. `$1` is the name of the queue. Rejects
   * if the database does, or if pg-boss is stopped.
   */
  run(text: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]>;
}

export function tablesOf(boss: PgBossClient, name: string, schema: string): PgBossTables {
  return {
    name,
    schema,
    async run(text, ...values) {
      const result = (await boss.getDb().executeSql(text, [name, ...values])) as
        { rows: unknown[] } | undefined;
      // A stopped PgBoss resolves to undefined and does nothing.
      if (result === undefined) throw new QueueError("pg-boss is stopped");
      return result.rows as Record<string, unknown>[];
    },
  };
}

/**
 * SQL for the name of the dead letter queue of the queue `$1`, as pg-boss has stored it. If it has stored
 * none, the default of `pgBossQueue`.
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

/** SQL for how many attempts a dead letter had. pg-boss's own have had them all. */
export const ATTEMPTS = "COALESCE((output->>'attempts')::int, retry_limit + 1)";

/** SQL for the text of the error with which a job failed. pg-boss wraps what is not an object in `value`. */
export const ERROR_MESSAGE = "COALESCE(output->>'message', output->'value'->>'message')";
