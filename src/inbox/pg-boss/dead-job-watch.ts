import { within } from "../../common/timers.js";
import type { ReceiveOptions } from "../queue-driver.js";
import {
  ATTEMPTS,
  DELIVERY_NAME,
  ERROR_MESSAGE,
  isDeadLetterOf,
  type PgBossTables,
} from "./sql.js";

/** How long a worker may take to report a dead job. After that another worker reports it. */
export const REPORT_CLAIM_SECONDS = 60;
const TIMEOUT_MS = 10_000;
/** Dead letters per statement. */
const BATCH_SIZE = 100;

/**
 * Finds and reports dead jobs that no worker has reported. Rejects if the database does. A worker reports
 * the failures that it settles itself. But a job that expires on its last attempt is failed by pg-boss's
 * maintenance, in any process. Whether a dead job has been reported is stored in its dead letter, so that
 * all workers of the queue know it.
 */
export async function reportMissed(
  tables: PgBossTables,
  options: Pick<ReceiveOptions, "onBuried">,
): Promise<void> {
  for (;;) {
    const claiming = tables.run(claimStatement(tables.schema), REPORT_CLAIM_SECONDS);
    const rows = await within(TIMEOUT_MS, "pg-boss", claiming);
    if (rows.length === 0) return;
    for (const { letter, name, attempts, message } of rows) {
      const reason = typeof message === "string" ? message : undefined;
      options.onBuried({ id: String(letter), data: name, attempt: Number(attempts) }, reason);
    }
    const letters = rows.map(({ letter }) => letter);
    await markReported(tables, letters);
    if (rows.length < BATCH_SIZE) return;
  }
}

/** Stores that these dead letters have been reported. Rejects if the database does. */
export async function markReported(
  tables: PgBossTables,
  letters: readonly unknown[],
): Promise<void> {
  await within(TIMEOUT_MS, "pg-boss", tables.run(markStatement(tables.schema), letters));
}

/** Takes on the report of unreported dead letters, each for one worker. */
function claimStatement(schema: string): string {
  return `
    UPDATE ${schema}.job
    SET output = CASE WHEN jsonb_typeof(output) = 'object' THEN output ELSE '{}' END
      || jsonb_build_object('reportAfter', extract(epoch FROM now()) + $2::int)
    WHERE ${isDeadLetterOf(schema)} AND id IN (
      SELECT id FROM ${schema}.job
      WHERE ${isDeadLetterOf(schema)} AND output->'reported' IS NULL
        AND (jsonb_typeof(output->'reportAfter') IS DISTINCT FROM 'number'
          OR (output->>'reportAfter')::float8 < extract(epoch FROM now()))
      ORDER BY created_on LIMIT ${String(BATCH_SIZE)}
      FOR UPDATE SKIP LOCKED)
    RETURNING id AS letter, ${DELIVERY_NAME} AS name,
      ${ATTEMPTS} AS attempts, ${ERROR_MESSAGE} AS message`;
}

function markStatement(schema: string): string {
  return `
    UPDATE ${schema}.job SET output = output - 'reportAfter' || '{"reported": true}'
    WHERE ${isDeadLetterOf(schema)} AND id = ANY($2::uuid[])`;
}
