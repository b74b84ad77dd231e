import type { JobFailure } from "../job-failure.js";
import { QueueError } from "../queue-error.js";
import type { PgBossConsumer, PgBossJob } from "./client.js";

/** Writes what became of a run. Each rejects where the database does. */
export interface Verdicts {
  /** The job is done with. False where it had expired meanwhile, and runs again. */
  complete(job: PgBossJob): Promise<boolean>;
  /**
   * The job is tried again when the failure says, in the queue's own time otherwise, or dead-lettered at
   * its limit. False where it is another run's by now.
   */
  fail(job: PgBossJob, failure: JobFailure, takeover: boolean): Promise<boolean>;
}

/** What `fail` leaves in the job, for a person to read and for the next run to tell a crash by. */
interface Output {
  readonly verdict: "failed";
  readonly takeover: boolean;
  readonly message: string;
  readonly stack: string;
}

/** A PgBoss that is stopped answers undefined in place of it. */
interface Rows {
  readonly rows: readonly unknown[];
}

/**
 * Whether an earlier run ended without a verdict: it has been fetched before, and what pg-boss wrote since
 * is not what a worker of ours leaves. Kept from one run to the next, for the effect may still be there.
 */
export function isTakeover({ retryCount, output }: PgBossJob): boolean {
  if (retryCount === 0) return false;
  const { verdict, takeover } = Object(output) as Partial<Output>;
  return verdict !== "failed" || takeover === true;
}

/** Makes the verdicts of one queue. `schema` has been checked to be a plain name. */
export function createVerdicts(boss: PgBossConsumer, queue: string, schema: string): Verdicts {
  const failing = failingStatement(schema);
  const completing = completingStatement(schema);

  return {
    // Whichever run it is: what is done is done, and another run under way need not be tried again.
    async complete({ id }) {
      if (wasAffected(await boss.complete(queue, id))) return true;
      const result = (await boss.getDb().executeSql(completing, [queue, id])) as Rows | undefined;
      return result !== undefined && result.rows.length > 0;
    },
    async fail({ id, retryCount }, failure, takeover) {
      const output = JSON.stringify(outputOf(failure, takeover));
      const values = [queue, id, retryCount, failure.retryAfterMs ?? null, output];
      const result = (await boss.getDb().executeSql(failing, values)) as Rows | undefined;
      // A PgBoss that is stopped gives undefined and does nothing.
      if (result === undefined) throw new QueueError("pg-boss is stopped");
      return result.rows.length > 0;
    },
  };
}

/**
 * For a job that has expired and waits for its next run, which pg-boss's own `complete` leaves alone: the
 * handler that took so long has succeeded, and would be called once more.
 */
function completingStatement(schema: string): string {
  return `
    UPDATE ${schema}.job SET state = 'completed', completed_on = now()
    WHERE name = $1 AND id = $2 AND state = 'retry'
    RETURNING id`;
}

/**
 * pg-boss's own `fail`, with three differences. Each failure may have its delay. Each try waits for a
 * worker as long as the first one: pg-boss moves `start_after` on and not `keep_until`, by which it
 * archives what waits, so that a job would be dropped between two of its tries. And nothing happens where
 * the job has been fetched again since, which counts up `retry_count`: a worker that stood still beyond
 * its job's expiry would otherwise fail the run of another one, and at the limit dead-letter a delivery
 * that is being handled.
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
      SELECT dead_letter, data, output, retry_limit, now() + 2 * (keep_until - start_after)
      FROM failed
      WHERE state = 'failed' AND dead_letter IS NOT NULL AND dead_letter <> name
    )
    SELECT id FROM failed`;
}

/** A PgBoss that is stopped says that it affected none, and so does one whose job has moved on. */
function wasAffected(answer: unknown): boolean {
  return (answer as { readonly affected?: unknown } | null | undefined)?.affected !== 0;
}

function outputOf({ message, stack = "" }: JobFailure, takeover: boolean): Output {
  return { verdict: "failed", takeover, message: storable(message), stack: storable(stack) };
}

/** jsonb refuses U+0000 and half a surrogate pair; the job would be stuck until it expires. */
function storable(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}
