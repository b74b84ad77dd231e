import { finishedJobOf, type FinishedOutcome } from "../inbox-job.js";
import type { JobFailure } from "../job-failure.js";
import type { EngineResponse } from "../job-report.js";
import type { PgBossJob } from "./client.js";
import { REPORT_CLAIM_SECONDS } from "./dead-job-watch.js";
import type { PgBossQueue } from "./sql.js";

/** What pg-boss did with a result. `letter`: the id of the dead letter. */
export interface Written {
  readonly response: EngineResponse;
  readonly letter?: string | undefined;
}

/** What a replay stores in the job. */
export const REPLAYED_OUTPUT = { result: "replayed" };

/**
 * Whether an earlier run may have had its effect. True if the job was replayed, or if it was fetched before
 * and its output does not come from one of our workers, which means that the run crashed or expired. Stays
 * true for all later runs, because the effect may still be there.
 */
export function isTakeover({ retryCount, output }: PgBossJob): boolean {
  const { result, takeover } = Object(output) as { result?: unknown; takeover?: unknown };
  if (result === REPLAYED_OUTPUT.result) return true;
  if (retryCount === 0) return false;
  return result !== "failed" || takeover === true;
}

/**
 * Completes the job and removes its body, in one statement. Resolves to undefined if the job no longer
 * exists or is already completed. Rejects if the database does.
 */
export async function completeJob(
  queue: PgBossQueue,
  { id, data }: PgBossJob,
  outcome: FinishedOutcome,
): Promise<Written | undefined> {
  const finished = JSON.stringify(finishedJobOf(data, outcome));
  const rows = await queue.run(completeStatement(queue.schema), id, finished);
  return rows.length > 0 ? { response: "accepted" } : undefined;
}

/**
 * Fails the job. It runs again after the delay of the failure, otherwise after that of the queue. After
 * its last attempt it is dead-lettered. Resolves to undefined if another run has the job by now. Rejects if
 * the database does.
 */
export async function failJob(
  queue: PgBossQueue,
  { id, retryCount }: PgBossJob,
  failure: JobFailure,
  takeover: boolean,
): Promise<Written | undefined> {
  const [row] = await queue.run(
    failStatement(queue.schema),
    id,
    retryCount,
    failure.retryAfterMs ?? null,
    JSON.stringify(outputOf(failure, takeover)),
    REPORT_CLAIM_SECONDS,
  );
  if (row === undefined) return undefined;
  const { state, letter } = row;
  if (state !== "failed") return { response: "accepted" };
  return { response: "dead", letter: typeof letter === "string" ? letter : undefined };
}

/**
 * Completes the job even if another run has it by now: its delivery has been handled, so no run is needed
 * any more. This includes a job that has expired and waits for its next run, and a dead one, whose dead
 * letter is deleted. pg-boss's own `complete` takes only active jobs and keeps the body.
 */
function completeStatement(schema: string): string {
  return `
    WITH completed AS (
      UPDATE ${schema}.job
      SET state = 'completed', completed_on = now(), data = $3::jsonb, output = NULL
      WHERE name = $1 AND id = $2 AND state IN ('active', 'retry', 'failed')
      RETURNING id, dead_letter
    ), unneeded AS (
      DELETE FROM ${schema}.job
      WHERE name = (SELECT dead_letter FROM completed) AND state < 'active'
        AND data->>'id' = $3::jsonb->>'id'
    )
    SELECT id FROM completed`;
}

/**
 * pg-boss's own `fail`, with four differences:
 * - Each failure may have its own delay.
 * - Each retry may wait for a worker as long as the first run. pg-boss moves `start_after` but not
 *   `keep_until`, after which it archives a waiting job, so it would drop a job between two retries.
 * - Nothing happens if the job has been fetched again since, which increments `retry_count`. Otherwise a
 *   worker that was paused beyond the expiry of its job would fail the run of another worker, and at the
 *   limit dead-letter a delivery that is being handled.
 * - The dead letter records that this worker is about to report it.
 */
function failStatement(schema: string): string {
  const hasRetries = "retry_count < retry_limit";
  const queueDelay = `
    interval '1 second' * CASE
      WHEN retry_backoff THEN retry_delay * 2 ^ LEAST(15, retry_count) * (1 + random())
      ELSE retry_delay
    END`;
  return `
    WITH due AS MATERIALIZED (
      SELECT now() + COALESCE($4::float8 * interval '1 millisecond', ${queueDelay}) AS at,
        keep_until - start_after AS patience
      FROM ${schema}.job
      WHERE name = $1 AND id = $2
    ), failed AS (
      UPDATE ${schema}.job
      SET state = (CASE WHEN ${hasRetries} THEN 'retry' ELSE 'failed' END)::${schema}.job_state,
        start_after = CASE WHEN ${hasRetries} THEN (SELECT at FROM due) ELSE start_after END,
        keep_until = CASE WHEN ${hasRetries} THEN (SELECT at + patience FROM due) ELSE keep_until END,
        completed_on = CASE WHEN ${hasRetries} THEN NULL ELSE now() END,
        output = $5::jsonb
      WHERE name = $1 AND id = $2 AND state = 'active' AND retry_count = $3
      RETURNING *
    ), dead_lettered AS (
      INSERT INTO ${schema}.job (name, data, output, retry_limit, keep_until)
      SELECT dead_letter, data,
        output || jsonb_build_object('reportAfter', extract(epoch FROM now()) + $6::int),
        retry_limit, now() + 2 * (keep_until - start_after)
      FROM failed
      WHERE state = 'failed' AND dead_letter IS NOT NULL AND dead_letter <> name
      RETURNING id
    )
    SELECT state, (SELECT id FROM dead_lettered) AS letter FROM failed`;
}

/** What a failed run stores in the job, for operators and for `isTakeover` of the next run. */
function outputOf({ message, stack = "" }: JobFailure, takeover: boolean) {
  return { result: "failed", takeover, message: storable(message), stack: storable(stack) };
}

/** jsonb refuses U+0000 and half a surrogate pair. The write would fail and the job stay active until it expires. */
function storable(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}
