import { deadDeliveriesOf, type DeadDeliveries } from "../dead-deliveries.js";
import { jobNameOf } from "../inbox-job.js";
import { pgBossJobId } from "../job-id.js";
import { wordsOfText } from "../queue-error.js";
import {
  ATTEMPTS,
  deadLetterQueueOf,
  DELIVERY_NAME,
  ERROR_MESSAGE,
  isDeadLetterOf,
  type PgBossTables,
} from "./sql.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The deliveries of the queue whose jobs have failed for good. They wait in the dead letter queue. */
export function deadLettersOf(tables: PgBossTables): DeadDeliveries {
  const statements = statementsOf(tables.schema);

  /** The dead letters of deliveries: the id of each, and of the job that it comes from. */
  const find = async (ids: readonly string[]) =>
    Promise.all(
      (await tables.run(statements.find, ids)).map(async (row) => {
        const letter = String(row["letter"]);
        const { id } = jobNameOf(row["name"]);
        // If the inbox did not make the job, the id of its source is unknown.
        const source = id === undefined ? letter : await pgBossJobId(id);
        return { id: id ?? letter, letter, source };
      }),
    );

  /** Runs a statement that takes letters out of the queue. Resolves to the ids of those that it took. */
  const take = async (ids: readonly string[], statement: string) => {
    const found = await find(ids);
    const [letters, sources] = [found.map((l) => l.letter), found.map((l) => l.source)];
    const rows = await tables.run(statement, letters, sources);
    const taken = new Set(rows.map(({ source }) => source));
    return new Set(found.filter(({ source }) => taken.has(source)).map(({ id }) => id));
  };

  const replay = (ids: readonly string[]) => take(ids, statements.replay);
  const unhandled = async (ids: readonly string[]) => {
    const jobs = new Map<string, string>();
    for (const id of ids) {
      jobs.set(await pgBossJobId(id), id);
      // A job that the inbox did not make is listed under its letter's id, and replayed with it.
      if (UUID.test(id)) jobs.set(id, id);
    }
    const rows = await tables.run(statements.unhandled, [...jobs.keys()]);
    const found = rows.map(
      (row) => [jobs.get(String(row["id"])) ?? "", row["failed"] ? "failed" : "open"] as const,
    );
    const dead = (await find(ids)).map(({ id }) => [id, "failed"] as const);
    return new Map([...found, ...dead]);
  };

  return deadDeliveriesOf("pg-boss", {
    async list(limit, offset) {
      const rows = await tables.run(statements.list, limit, offset);
      return rows.map((row) => {
        const { id = String(row["letter"]), type } = jobNameOf(row["name"]);
        return {
          id,
          type,
          attempts: Number(row["attempts"]),
          failedAt: new Date(Number(row["failed_at"])),
          error: wordsOfText(row["message"]),
        };
      });
    },
    replay,
    discard: (ids) => take(ids, statements.discard),
    watch: () => ({ replay, unhandled }),
  });
}

function statementsOf(schema: string) {
  const isDeadLetter = isDeadLetterOf(schema);
  // If two calls take the same letter, the second waits for the first and finds no letter. A job that pg-boss has
  // archived still has the body.
  const taken = `
    WITH wanted AS (
      SELECT * FROM unnest($2::uuid[], $3::uuid[]) AS wanted (letter, source)
    ), taken AS (
      DELETE FROM ${schema}.job USING wanted
      WHERE ${isDeadLetter} AND id = letter
      RETURNING source, data, retry_limit
    ), archived AS (
      DELETE FROM ${schema}.archive USING taken WHERE name = $1 AND id = source
    )`;
  return {
    list: `
      SELECT id AS letter, ${DELIVERY_NAME} AS name, ${ATTEMPTS} AS attempts,
        extract(epoch FROM created_on) * 1000 AS failed_at, ${ERROR_MESSAGE} AS message
      FROM ${schema}.job
      WHERE ${isDeadLetter}
      ORDER BY created_on, id LIMIT $2 OFFSET $3`,
    find: `
      SELECT id AS letter, ${DELIVERY_NAME} AS name FROM ${schema}.job
      WHERE ${isDeadLetter} AND (data->>'id' = ANY($2::text[]) OR id::text = ANY($2::text[]))`,
    // Makes the job itself ready again. If pg-boss has archived or deleted it, it is inserted again.
    replay: `${taken}, revived AS (
      UPDATE ${schema}.job SET state = 'retry', data = taken.data, retry_count = 0,
        start_after = now(), started_on = NULL, completed_on = NULL, output = NULL,
        keep_until = now() + (keep_until - start_after)
      FROM taken WHERE name = $1 AND id = source AND state = 'failed'
      RETURNING source
    ), added AS (
      INSERT INTO ${schema}.job (id, name, data, state, retry_limit, retry_delay, retry_backoff,
        expire_in, keep_until, dead_letter, policy)
      SELECT DISTINCT ON (source) source, $1, data, 'retry', taken.retry_limit,
        COALESCE(retry_delay, 10), COALESCE(retry_backoff, true),
        COALESCE(expire_seconds, 900) * interval '1 second',
        now() + COALESCE(retention_minutes, 525600) * interval '1 minute',
        ${deadLetterQueueOf(schema)}, policy
      FROM taken LEFT JOIN ${schema}.queue ON name = $1
      ON CONFLICT DO NOTHING
      RETURNING id AS source
    )
    SELECT source FROM revived UNION ALL SELECT source FROM added`,
    // A replay empties `output`, and each failed run fills it.
    unhandled: `
      SELECT id, state = 'failed' OR output IS NOT NULL AS failed FROM ${schema}.job
      WHERE name = $1 AND id = ANY($2::uuid[]) AND state <> 'completed'`,
    discard: `${taken}, known AS (
      DELETE FROM ${schema}.job USING taken WHERE name = $1 AND id = source AND state = 'failed'
    )
    SELECT source FROM taken`,
  };
}
