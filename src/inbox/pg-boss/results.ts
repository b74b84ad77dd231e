import { doneJobOf, type DoneOutcome } from "../inbox-job.js";
import type { JobFailure } from "../job-failure.js";
import type { PgBossDatabase, PgBossJob } from "./client.js";
import { CLAIM_SECONDS } from "./dead-watch.js";
import { sqlOf } from "./sql.js";

/** What the engine made of a failure. `letter`: the id of the dead letter. */
export type Failed =
  { readonly state: "retry" } | { readonly state: "failed"; readonly letter: string | undefined };

/** Writes the results of runs. Each rejects where the database does. */
export interface Results {
  /**
   * The job is done with, and its body is gone, in one statement. False where it is not there any more,
   * or was completed before.
   */
  complete(job: PgBossJob, outcome: DoneOutcome): Promise<boolean>;
  /**
   * The job is tried again when the failure says, in the queue's own time otherwise, or dead-lettered at
   * its limit. Undefined where it is another run's by now.
   */
  fail(job: PgBossJob, failure: JobFailure, takeover: boolean): Promise<Failed | undefined>;
}

/** What `fail` leaves in the job, for a person to read and for the next run to tell a crash by. */
interface Output {
  readonly result: "failed";
  readonly takeover: boolean;
  readonly message: string;
  readonly stack: string;
}

/** What a replay leaves in the job. */
export const REPLAYED_OUTPUT = { result: "replayed" };

/**
 * Whether an earlier run may have had its effect: the job was replayed, or it has been fetched before and
 * what pg-boss wrote since is not what a worker of ours leaves. Kept from one run to the next, for the effect
 * may still be there.
 */
export function isTakeover({ retryCount, output }: PgBossJob): boolean {
  const { result, takeover } = Object(output) as { result?: unknown; takeover?: unknown };
  if (result === REPLAYED_OUTPUT.result) return true;
  if (retryCount === 0) return false;
  return result !== "failed" || takeover === true;
}

/** Makes the results of one queue. `schema` has been checked to be a plain name. */
export function createResults(boss: PgBossDatabase, queue: string, schema: string): Results {
  const sql = sqlOf(boss);
  const failing = failingStatement(schema);
  const completing = completingStatement(schema);

  return {
    async complete({ id, data }, outcome) {
      const rows = await sql(completing, [queue, id, JSON.stringify(doneJobOf(data, outcome))]);
      return rows.length > 0;
    },
    async fail({ id, retryCount }, failure, takeover) {
      const output = JSON.stringify(outputOf(failure, takeover));
      const delayMs = failure.retryAfterMs ?? null;
      const [row] = await sql(failing, [queue, id, retryCount, delayMs, output, CLAIM_SECONDS]);
      if (row === undefined) return undefined;
      if (row["state"] !== "failed") return { state: "retry" };
      const { letter } = row;
      return { state: "failed", letter: typeof letter === "string" ? letter : undefined };
    },
  };
}

/**
 * Whichever run it is: what is done is done, and another run under way need not be tried again. So also for
 * a job that has expired meanwhile and waits for its next run, or is dead: its letter goes, for the delivery
 * has been handled. pg-boss's own `complete` does only the active ones, and keeps the body.
 */
function completingStatement(schema: string): string {
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
 * pg-boss's own `fail`, with four differences. Each failure may have its delay. Each try waits for a
 * worker as long as the first one: pg-boss moves `start_after` on and not `keep_until`, by which it
 * archives what waits, so that a job would be dropped between two of its tries. Nothing happens where
 * the job has been fetched again since, which counts up `retry_count`: a worker that was paused beyond
 * its job's expiry would otherwise fail the run of another one, and at the limit dead-letter a delivery
 * that is being handled. And the dead letter says that its report is under way here.
 */
function failingStatement(schema: string): string {
  const hasRetries = "retry_count < retry_limit";
  const ownDelay = `
    interval '1 second' * CASE
      WHEN retry_backoff THEN retry_delay * 2 ^ LEAST(15, retry_count) * (1 + random())
      ELSE retry_delay
    END`;
  return `
    WITH due AS MATERIALIZED (
      SELECT now() + COALESCE($4::float8 * interval '1 millisecond', ${ownDelay}) AS at,
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

function outputOf({ message, stack = "" }: JobFailure, takeover: boolean): Output {
  return { result: "failed", takeover, message: storable(message), stack: storable(stack) };
}

/** jsonb refuses U+0000 and half a surrogate pair; the job would be stuck until it expires. */
function storable(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}
