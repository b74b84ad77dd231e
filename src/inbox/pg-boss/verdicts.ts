import type { JobFailure } from "../job-failure.js";
import type { PgBossConsumer, PgBossJob } from "./client.js";

/** Writes what became of a run. Each rejects where the database does. */
export interface Verdicts {
  /** The job is done with. False where it was not this worker's any more, and runs again. */
  complete(job: PgBossJob): Promise<boolean>;
  /** pg-boss tries the job again in its own time, or dead-letters it at its limit. */
  fail(job: PgBossJob, failure: JobFailure, takeover: boolean): Promise<boolean>;
  /** The job is tried again in `delayMs`. False where it is at its limit, or not this worker's any more. */
  postpone(
    job: PgBossJob,
    delayMs: number,
    failure: JobFailure,
    takeover: boolean,
  ): Promise<boolean>;
}

/** What `fail` leaves in the job, for a person to read and for the next run to tell a crash by. */
interface Output {
  readonly verdict: "failed";
  readonly takeover: boolean;
  readonly message: string;
  readonly stack: string;
}

/**
 * Whether an earlier run ended without a verdict: it has been fetched before, and what pg-boss wrote since
 * is not what a worker of ours leaves. Kept from one run to the next, for the effect may still be there.
 */
export function isTakeover({ retryCount, output }: PgBossJob): boolean {
  if (retryCount === 0) return false;
  const { verdict, takeover } = (output ?? {}) as Partial<Output>;
  return verdict !== "failed" || takeover === true;
}

/** Makes the verdicts of one queue. `schema` has been checked to be a plain name. */
export function createVerdicts(boss: PgBossConsumer, queue: string, schema: string): Verdicts {
  // pg-boss itself has one delay for all failures of a job. The conditions are those of its own `fail`:
  // nothing happens to a job that has expired, or that another worker has.
  const postponing = `
    UPDATE ${schema}.job
    SET state = 'retry', start_after = now() + $4 * interval '1 millisecond', output = $5::jsonb
    WHERE name = $1 AND id = $2 AND state = 'active'
      AND retry_count = $3 AND retry_count < retry_limit
    RETURNING id`;

  return {
    async complete({ id }) {
      return wasAffected(await boss.complete(queue, id));
    },
    async fail({ id }, failure, takeover) {
      return wasAffected(await boss.fail(queue, id, outputOf(failure, takeover)));
    },
    async postpone({ id, retryCount }, delayMs, failure, takeover) {
      const output = JSON.stringify(outputOf(failure, takeover));
      const values = [queue, id, retryCount, delayMs, output];
      const result = (await boss.getDb().executeSql(postponing, values)) as
        { readonly rows: readonly unknown[] } | undefined;
      // A PgBoss that is stopped gives undefined and does nothing.
      if (result === undefined) throw new Error("pg-boss is stopped");
      return result.rows.length > 0;
    },
  };
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
