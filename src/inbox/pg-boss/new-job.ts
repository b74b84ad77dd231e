import type { InboxJob } from "../inbox-job.js";
import type { PgBossDatabase } from "./client.js";
import { runSql } from "./sql.js";

/** The settings of a queue, and of each job in it. */
export interface JobSettings {
  readonly deadLetter: string;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly retryBackoff: boolean;
  readonly expireInSeconds: number;
  readonly retentionMinutes: number;
}

/**
 * Puts a job into the queue unless it is known, in one statement. Resolves to whether the queue has the job
 * now. Rejects if the database does, or if pg-boss is stopped.
 */
export async function addJob(
  boss: PgBossDatabase,
  schema: string,
  queueName: string,
  settings: JobSettings,
  id: string,
  job: InboxJob,
): Promise<boolean> {
  const values = [
    ...[queueName, id, JSON.stringify(job), settings.deadLetter, settings.expireInSeconds],
    ...[settings.retentionMinutes, settings.retryLimit, settings.retryDelay, settings.retryBackoff],
  ];
  const add = async () => {
    const rows = await runSql(boss, addStatement(schema), values);
    return rows.some((row) => row["id"] === id);
  };
  // The second time it sees a job that was added since the first time began.
  return (await add()) || (await add());
}

/**
 * Returns the id if the queue has the job: as a new one, or since earlier. pg-boss's own `send` finds a
 * known id only among jobs that are not archived yet, 12 hours by default. The gateway's attempts span 36
 * hours.
 *
 * `known` and the insert read the same snapshot, so a job that is being archived meanwhile is found too.
 * Nothing is returned if the queue does not exist, or if its policy refuses the job.
 */
function addStatement(schema: string): string {
  return `
    WITH known AS MATERIALIZED (
      SELECT id FROM ${schema}.job WHERE name = $1 AND id = $2
      UNION ALL
      SELECT id FROM ${schema}.archive WHERE name = $1 AND id = $2
    ), added AS (
      INSERT INTO ${schema}.job (
        id, name, data, dead_letter, expire_in, keep_until,
        retry_limit, retry_delay, retry_backoff, policy
      )
      SELECT $2::uuid, name, $3::jsonb, $4, $5 * interval '1 s', now() + $6 * interval '1 min',
        $7::int, $8::int, $9::bool, policy
      FROM ${schema}.queue
      WHERE name = $1 AND NOT EXISTS (SELECT FROM known)
      ON CONFLICT DO NOTHING
      RETURNING id
    )
    SELECT id FROM known UNION ALL SELECT id FROM added`;
}
