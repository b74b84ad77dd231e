import { ownOptions } from "../../common/option-checks.js";
import { checkClient, checkQueueName } from "../client-methods.js";
import { deadDeliveriesOf, type DeadDeliveries, type DeadDelivery } from "../dead-deliveries.js";
import { jobNameOf } from "../inbox-job.js";
import { queueErrorOf, wordsOfText } from "../queue-error.js";
import { DEFAULT_QUEUE } from "../retry-options.js";
import type { PgBossDatabase } from "./client.js";
import { pgBossJobId } from "./job-id.js";
import { REPLAYED_OUTPUT } from "./results.js";
import { deadLetterOf, schemaOption, sqlOf } from "./sql.js";

/** Options of `deadDeliveries`. */
export interface PgBossDeadDeliveriesOptions {
  /** A started `PgBoss` of version 10. */
  boss: PgBossDatabase;
  /** The name of the queue that `pgBossEnqueue` was given, default `"gateway-deliveries"`. */
  queueName?: string | undefined;
  /** The schema that the PgBoss was made with, default `"pgboss"`. */
  schema?: string | undefined;
}

/** A dead letter and the job that it comes from. */
interface Letter {
  readonly letter: string;
  readonly source: string;
}

/**
 * The deliveries of a queue of pg-boss whose jobs failed for good. They wait in the queue's dead letter
 * queue, with their bodies, for twice `pendingRetentionMs` (default 2 years); then pg-boss deletes them.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function deadDeliveries(options: PgBossDeadDeliveriesOptions): DeadDeliveries {
  const own = ownOptions("deadDeliveries", options, ["boss", "queueName", "schema"]);
  const { boss, queueName = DEFAULT_QUEUE } = own;
  checkClient("boss", boss, ["getDb"]);
  checkQueueName("queueName", queueName);
  const statements = statementsOf(schemaOption(own.schema));
  const run = sqlOf(boss);

  const sql = async (text: string, values: unknown[]) => {
    try {
      return await run(text, [queueName, ...values]);
    } catch (error) {
      throw queueErrorOf("pg-boss", error);
    }
  };

  const lettersOf = async (ids: readonly string[]): Promise<(Letter & { id: string })[]> => {
    const rows = await sql(statements.find, [ids]);
    return Promise.all(
      rows.map(async (row) => {
        const letter = String(row["letter"]);
        const { id } = jobNameOf(row["name"]);
        // Where a job that is not ours comes from is not known.
        const source = id === undefined ? letter : await pgBossJobId(id);
        return { id: id ?? letter, letter, source };
      }),
    );
  };

  const eachOf =
    (statement: string, ...more: unknown[]) =>
    async (ids: readonly string[]): Promise<ReadonlySet<string>> => {
      const letters = await lettersOf(ids);
      const [first, second] = [letters.map((l) => l.letter), letters.map((l) => l.source)];
      const rows = await sql(statement, [first, second, ...more]);
      const done = new Set(rows.map(({ source }) => source));
      return new Set(letters.filter(({ source }) => done.has(source)).map(({ id }) => id));
    };

  return deadDeliveriesOf({
    list: async (limit, offset) =>
      (await sql(statements.list, [limit, offset])).map((row): DeadDelivery => {
        const { id = String(row["letter"]), type } = jobNameOf(row["name"]);
        return {
          ...{ id, type, attempts: Number(row["attempts"]) },
          failedAt: new Date(Number(row["failed_at"])),
          error: wordsOfText(row["message"]),
        };
      }),
    replay: eachOf(statements.replay, JSON.stringify(REPLAYED_OUTPUT)),
    discard: eachOf(statements.discard),
  });
}

function statementsOf(schema: string) {
  const letters = `name = ${deadLetterOf(schema)} AND state < 'active'`;
  const name = "jsonb_build_object('id', data->'id', 'type', data->'type') AS name";
  // Of two calls at once, the second waits for the first and finds no letter.
  const taken = `
    WITH wanted AS (
      SELECT * FROM unnest($2::uuid[], $3::uuid[]) AS wanted (letter, source)
    ), taken AS (
      DELETE FROM ${schema}.job USING wanted
      WHERE ${letters} AND id = letter
      RETURNING source, data, retry_limit
    )`;
  return {
    list: `
      SELECT id AS letter, ${name}, retry_limit + 1 AS attempts,
        extract(epoch FROM created_on) * 1000 AS failed_at,
        COALESCE(output->>'message', output->'value'->>'message') AS message
      FROM ${schema}.job
      WHERE ${letters}
      ORDER BY created_on, id LIMIT $2 OFFSET $3`,
    find: `
      SELECT id AS letter, ${name} FROM ${schema}.job
      WHERE ${letters} AND (data->>'id' = ANY($2::text[]) OR id::text = ANY($2::text[]))`,
    // The job itself is made ready again; one that pg-boss has archived or deleted is made anew.
    replay: `${taken}, archived AS (
      DELETE FROM ${schema}.archive USING taken WHERE name = $1 AND id = source
    )
    INSERT INTO ${schema}.job AS job (id, name, data, state, retry_limit, retry_delay, retry_backoff,
      expire_in, keep_until, dead_letter, policy, output)
    SELECT DISTINCT ON (source) source, $1, data, 'retry', taken.retry_limit,
      COALESCE(retry_delay, 10), COALESCE(retry_backoff, true),
      COALESCE(expire_seconds, 900) * interval '1 second',
      now() + COALESCE(retention_minutes, 525600) * interval '1 minute',
      ${deadLetterOf(schema)}, policy, $4::jsonb
    FROM taken LEFT JOIN ${schema}.queue ON name = $1
    ON CONFLICT (name, id) DO UPDATE SET state = 'retry', data = EXCLUDED.data, retry_count = 0,
      start_after = now(), started_on = NULL, completed_on = NULL, output = EXCLUDED.output,
      keep_until = now() + (job.keep_until - job.start_after)
    WHERE job.state = 'failed'
    RETURNING id AS source`,
    discard: `${taken}, left_over AS (
      SELECT source, jsonb_build_object('version', 1, 'id', data->'id', 'type', data->'type',
        'timestamp', data->'timestamp', 'done', 'discarded') AS done FROM taken
    ), known AS (
      UPDATE ${schema}.job SET state = 'completed', completed_on = now(), data = done, output = NULL
      FROM left_over WHERE name = $1 AND id = source AND state = 'failed'
    ), archived AS (
      UPDATE ${schema}.archive SET data = done, output = NULL
      FROM left_over WHERE name = $1 AND id = source
    )
    SELECT source FROM taken`,
  };
}
