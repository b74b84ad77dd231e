import { GatewayWebhookError } from "../../common/errors.js";
import { within } from "../../common/timers.js";
import { jobNameOf } from "../inbox-job.js";
import type { GivenUpJob } from "../job-runner.js";
import { wordsOfText } from "../queue-error.js";
import type { PgBossDatabase } from "./client.js";
import { DELIVERY_NAME, ERROR_MESSAGE, isDeadLetterOf, runSql } from "./sql.js";

/** How long a worker may take to report a dead job. After that another worker reports it. */
export const REPORT_CLAIM_SECONDS = 60;
const TIMEOUT_MS = 10_000;
/** Dead letters per statement. */
const BATCH_SIZE = 100;

/**
 * Finds dead jobs that no worker has reported. A worker reports the failures that it writes itself. But a
 * job that expires on its last attempt is failed by pg-boss's maintenance, in any process. Whether a dead
 * job has been reported is stored in its dead letter, so that all workers of the queue know it.
 */
export class DeadJobWatch {
  readonly #boss: PgBossDatabase;
  readonly #queueName: string;
  readonly #report: (job: GivenUpJob) => void;
  readonly #claimStatement: string;
  readonly #markStatement: string;

  constructor(
    boss: PgBossDatabase,
    queueName: string,
    schema: string,
    report: (job: GivenUpJob) => void,
  ) {
    this.#boss = boss;
    this.#queueName = queueName;
    this.#report = report;
    this.#claimStatement = claimStatement(schema);
    this.#markStatement = markStatement(schema);
  }

  /** Reports the dead jobs that no worker has reported. Rejects if the database does. */
  async reportMissed(): Promise<void> {
    for (;;) {
      const rows = await this.#sql(this.#claimStatement, REPORT_CLAIM_SECONDS);
      if (rows.length === 0) return;
      for (const { letter, name, attempts, message } of rows) {
        const { id = String(letter), type } = jobNameOf(name);
        const error = new GatewayWebhookError(
          "dead_job",
          wordsOfText(message) || "the engine gave up the job",
        );
        this.#report({ id, type, attempts: Number(attempts), error });
      }
      await this.markReported(rows.map(({ letter }) => letter));
      if (rows.length < BATCH_SIZE) return;
    }
  }

  /** Stores that these dead letters have been reported. Rejects if the database does. */
  async markReported(letters: readonly unknown[]): Promise<void> {
    await this.#sql(this.#markStatement, letters);
  }

  #sql(text: string, value: unknown): Promise<readonly Record<string, unknown>[]> {
    const rows = runSql(this.#boss, text, [this.#queueName, value]);
    return within(TIMEOUT_MS, "pg-boss", rows);
  }
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
      retry_limit + 1 AS attempts, ${ERROR_MESSAGE} AS message`;
}

function markStatement(schema: string): string {
  return `
    UPDATE ${schema}.job SET output = output - 'reportAfter' || '{"reported": true}'
    WHERE ${isDeadLetterOf(schema)} AND id = ANY($2::uuid[])`;
}
