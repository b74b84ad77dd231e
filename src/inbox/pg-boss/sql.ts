import { ConfigurationError } from "../../common/errors.js";
import { QueueError } from "../queue-error.js";
import type { PgBossDatabase } from "./client.js";

/** Runs one statement and returns its rows. Rejects where the database does, or pg-boss is stopped. */
export type Sql = (text: string, values: unknown[]) => Promise<readonly Record<string, unknown>[]>;

/** pg-boss's own rule. It is written into a statement, where no name can be a parameter. */
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/;

/** The schema that the PgBoss was made with. Throws `ConfigurationError` where it cannot be one. */
export function schemaOption(schema: unknown = "pgboss"): string {
  if (typeof schema === "string" && SCHEMA.test(schema)) return schema;
  throw new ConfigurationError("invalid_option", "schema has to be the name of pg-boss's schema");
}

/** Statements on pg-boss's own connections. */
export function sqlOf(boss: PgBossDatabase): Sql {
  return async (text, values) => {
    const result = (await boss.getDb().executeSql(text, values)) as { rows: unknown[] } | undefined;
    // A PgBoss that is stopped gives undefined and does nothing.
    if (result === undefined) throw new QueueError("pg-boss is stopped");
    return result.rows as Record<string, unknown>[];
  };
}

/**
 * The queue for the dead letters of the queue `$1`: as pg-boss knows it. Only where it knows none, the name
 * that `pgBossEnqueue` gives by default.
 */
export function deadLetterOf(schema: string): string {
  return `COALESCE((SELECT q.dead_letter FROM ${schema}.queue q WHERE q.name = $1), $1 || '-dead')`;
}
