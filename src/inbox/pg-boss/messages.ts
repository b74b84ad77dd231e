import type { QueueMessage, QueueSettlement } from "../queue-driver.js";
import type { PgBossJob } from "./client.js";
import { REPORT_CLAIM_SECONDS } from "./dead-job-watch.js";
import type { PgBossTables } from "./sql.js";

/**
 * SQL for "this run of the job". Each fetch after a run increments `retry_count`, so a worker that was paused
 * beyond the expiry of its job cannot change the run of another worker.
 */
const THIS_RUN = "name = $1 AND id = $2 AND retry_count = $3";

/** The message of a job. `onDead` gets the id of its dead letter. */
export function messageOf(
  tables: PgBossTables,
  { id, data, retryCount, retryLimit, createdOn }: PgBossJob,
  onDead: (letter: string) => void,
): QueueMessage {
  const { schema } = tables;
  const run = (statement: string, ...values: unknown[]) =>
    tables.run(statement, id, retryCount, ...values);
  const settle = (settlement: QueueSettlement) => {
    switch (settlement.result) {
      case "done":
        return run(doneStatement(schema));
      case "retry": {
        const { afterMs, error } = settlement;
        const output = error === undefined ? null : JSON.stringify(outputOf(error));
        return run(retryStatement(schema), afterMs, output);
      }
      case "dead": {
        const output = { ...outputOf(settlement.error), attempts: retryCount + 1 };
        return run(deadStatement(schema), JSON.stringify(output), REPORT_CLAIM_SECONDS);
      }
    }
  };
  return {
    id,
    data,
    attempt: retryCount + 1,
    maxAttempts: retryLimit + 1,
    enqueuedAt: new Date(createdOn),
    extend: async (ms) => (await run(extendStatement(schema), ms)).length > 0,
    async settle(settlement) {
      const [row] = await settle(settlement);
      if (typeof row?.["letter"] === "string") onDead(row["letter"]);
      return row !== undefined;
    },
  };
}

/** pg-boss fails a job that runs once `started_on + expire_in` is over. */
function extendStatement(schema: string): string {
  return `
    UPDATE ${schema}.job SET started_on = now() + $4::float8 * interval '1 ms' - expire_in
    WHERE ${THIS_RUN} AND state = 'active'
    RETURNING id`;
}

/**
 * Takes the job away also if it has expired and waits for its next run, or has expired on its last attempt and is
 * dead: its delivery has been handled. pg-boss's own `complete` takes only active jobs and keeps the body.
 */
function doneStatement(schema: string): string {
  return `
    WITH done AS (
      DELETE FROM ${schema}.job
      WHERE ${THIS_RUN} AND state IN ('active', 'retry', 'failed')
      RETURNING id, dead_letter, state, data
    ), unneeded AS (
      DELETE FROM ${schema}.job
      WHERE name = (SELECT dead_letter FROM done WHERE state = 'failed') AND state < 'active'
        AND data->>'id' = (SELECT data->>'id' FROM done)
    )
    SELECT id FROM done`;
}

/**
 * pg-boss's own `fail` has one delay for all jobs. It also moves `start_after` but not `keep_until`, after which
 * it archives a waiting job, so it would drop a job between two retries. A run that did not fail must not count:
 * the fetch of a job that was never started leaves `retry_count` as it is.
 */
function retryStatement(schema: string): string {
  return `
    UPDATE ${schema}.job
    SET state = 'retry', start_after = now() + $4::float8 * interval '1 ms',
      keep_until = now() + $4::float8 * interval '1 ms' + (keep_until - start_after),
      output = COALESCE($5::jsonb, output),
      started_on = CASE WHEN $5::jsonb IS NULL THEN NULL ELSE started_on END
    WHERE ${THIS_RUN} AND state = 'active'
    RETURNING id`;
}

/** As pg-boss's own failure for good, but the dead letter records that this worker is about to report it. */
function deadStatement(schema: string): string {
  return `
    WITH failed AS (
      UPDATE ${schema}.job SET state = 'failed', completed_on = now(), output = $4::jsonb
      WHERE ${THIS_RUN} AND state = 'active'
      RETURNING *
    ), dead_lettered AS (
      INSERT INTO ${schema}.job (name, data, output, retry_limit, keep_until)
      SELECT dead_letter, data,
        output || jsonb_build_object('reportAfter', extract(epoch FROM now()) + $5::int),
        retry_limit, now() + 2 * (keep_until - start_after)
      FROM failed
      WHERE dead_letter <> name
      RETURNING id
    )
    SELECT (SELECT id FROM dead_lettered) AS letter FROM failed`;
}

/** What a failed run stores in the job, for operators. */
function outputOf({ message, stack = "" }: Error) {
  return { message: storable(message), stack: storable(stack) };
}

/** jsonb refuses U+0000 and half a surrogate pair. The write would fail and the job stay active until it expires. */
function storable(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}
