import { ConfigurationError } from "../../common/errors.js";
import { QueueError } from "../queue-error.js";
import type { PgBossDatabase } from "./client.js";

/** pg-boss's own rule. The name becomes part of statements, where no parameter can stand for it. */
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/;

/** The schema option, or its default. Throws `ConfigurationError` if it is not a schema name. */
export function schemaOption(schema: unknown = "pgboss"): string {
  if (typeof schema === "string" && SCHEMA.test(schema)) return schema;
  throw new ConfigurationError("invalid_option", "schema must be the name of pg-boss's schema");
}

/**
 * Runs one statement on a connection of pg-boss and returns its rows. Rejects if the database does, or if
 * pg-boss is stopped.
 */
export async function runSql(
  boss: PgBossDatabase,
  text: string,
  values: unknown[],
): Promise<readonly Record<string, unknown>[]> {
  const result = (await boss.getDb().executeSql(text, values)) as { rows: unknown[] } | undefined;
  // A stopped PgBoss resolves to undefined and does nothing.
  if (result === undefined) throw new QueueError("pg-boss is stopped");
  return result.rows as Record<string, unknown>[];
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
