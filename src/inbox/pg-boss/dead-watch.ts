import { within } from "../../common/timers.js";
import { jobNameOf } from "../inbox-job.js";
import { DeadJobError } from "../job-report.js";
import type { GivenUpJob } from "../job-runner.js";
import { wordsOfText } from "../queue-error.js";
import type { PgBossDatabase } from "./client.js";
import { deadLetterOf, sqlOf } from "./sql.js";

/** Knows which dead jobs have been reported, in the dead letters themselves, so that all workers know it. */
export interface DeadWatch {
  /** Dead letters whose jobs have been reported. Rejects where the database does. */
  readonly markReported: (letters: readonly unknown[]) => Promise<void>;
  /** Reports the dead jobs that no worker has reported. Rejects where the database does. */
  readonly look: () => Promise<void>;
}

/** How long the worker that takes on a report has for it; one that crashes has it taken over. */
export const CLAIM_SECONDS = 60;
const TIMEOUT_MS = 10_000;
/** Dead letters at a time. */
const BATCH = 100;

/**
 * Makes the watch of a queue's dead letters. A worker reports the failures that it writes itself; a job that
 * expires at its last attempt is failed by pg-boss's maintenance, in whichever process that runs.
 */
export function createDeadWatch(
  boss: PgBossDatabase,
  queue: string,
  schema: string,
  report: (job: GivenUpJob) => void,
): DeadWatch {
  const sql = sqlOf(boss);
  const letters = `name = ${deadLetterOf(schema)} AND state < 'active'`;
  const claiming = `
    UPDATE ${schema}.job
    SET output = CASE WHEN jsonb_typeof(output) = 'object' THEN output ELSE '{}' END
      || jsonb_build_object('reportAfter', extract(epoch FROM now()) + $2::int)
    WHERE ${letters} AND id IN (
      SELECT id FROM ${schema}.job
      WHERE ${letters} AND output->'reported' IS NULL
        AND (jsonb_typeof(output->'reportAfter') IS DISTINCT FROM 'number'
          OR (output->>'reportAfter')::float8 < extract(epoch FROM now()))
      ORDER BY created_on LIMIT ${String(BATCH)}
      FOR UPDATE SKIP LOCKED)
    RETURNING id AS letter, jsonb_build_object('id', data->'id', 'type', data->'type') AS name,
      retry_limit + 1 AS attempts, COALESCE(output->>'message', output->'value'->>'message') AS message`;
  const marking = `
    UPDATE ${schema}.job SET output = output - 'reportAfter' || '{"reported": true}'
    WHERE ${letters} AND id = ANY($2::uuid[])`;

  const bounded = <T>(work: Promise<T>): Promise<T> => within(TIMEOUT_MS, "pg-boss", work);

  const markReported = async (ids: readonly unknown[]): Promise<void> => {
    await bounded(sql(marking, [queue, ids]));
  };

  const look = async (): Promise<void> => {
    for (;;) {
      const rows = await bounded(sql(claiming, [queue, CLAIM_SECONDS]));
      if (rows.length === 0) return;
      for (const { letter, name, attempts, message } of rows) {
        const { id = String(letter), type } = jobNameOf(name);
        const error = new DeadJobError(wordsOfText(message) || "the engine gave the job up");
        report({ id, type, attempts: Number(attempts), error });
      }
      await markReported(rows.map(({ letter }) => letter));
      if (rows.length < BATCH) return;
    }
  };

  return { markReported, look };
}
