import type { InboxJob } from "../inbox-job.js";
import type { PgBossQueueOptions } from "./client.js";
import type { PgBossQueue } from "./sql.js";

/** The settings of a queue, and of each job in it. */
export type JobSettings = Required<Omit<PgBossQueueOptions, "name">>;

/**
 * Puts a job into the queue unless it is known. Resolves to whether the queue has the job now. Rejects if
 * the database does, or if pg-boss is stopped.
 */
export async function addJob(
  queue: PgBossQueue,
  settings: JobSettings,
  id: string,
  job: InboxJob,
): Promise<boolean> {
  const returnsId = async (text: string, ...values: unknown[]): Promise<boolean> =>
    (await queue.run(text, id, ...values)).some((row) => row["id"] === id);
  const isAdded = await returnsId(
    addStatement(queue.schema),
    JSON.stringify(job),
    settings.deadLetter,
    settings.expireInSeconds,
    settings.retentionMinutes,
    settings.retryLimit,
    settings.retryDelay,
    settings.retryBackoff,
  );
  return isAdded || returnsId(knownStatement(queue.schema));
}

/**
 * Returns the id of the new job, and nothing if the job is known, if the queue does not exist, or if its
 * policy refuses the job. pg-boss's own `send` finds a known id only among jobs that are not archived yet,
 * 12 hours by default. The gateway's attempts span 36 hours.
 *
 * It looks at jobs and archive in one snapshot, so it also finds a job that is being archived meanwhile:
 * `ON CONFLICT` alone would wait for the end of that and then insert. As one statement with
 * `knownStatement` it would take the server a quarter longer for every delivery.
 */
function addStatement(schema: string): string {
  return `
    INSERT INTO ${schema}.job (
      id, name, data, dead_letter, expire_in, keep_until,
      retry_limit, retry_delay, retry_backoff, policy
    )
    SELECT $2::uuid, name, $3::jsonb, $4, $5 * interval '1 s', now() + $6 * interval '1 min',
      $7::int, $8::int, $9::bool, policy
    FROM ${schema}.queue
    WHERE name = $1
      AND NOT EXISTS (SELECT FROM ${schema}.job WHERE name = $1 AND id = $2::uuid)
      AND NOT EXISTS (SELECT FROM ${schema}.archive WHERE name = $1 AND id = $2::uuid)
    ON CONFLICT DO NOTHING
    RETURNING id`;
}

function knownStatement(schema: string): string {
  return `
    SELECT id FROM ${schema}.job WHERE name = $1 AND id = $2
    UNION ALL
    SELECT id FROM ${schema}.archive WHERE name = $1 AND id = $2`;
}
