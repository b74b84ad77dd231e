import { integerOption, ownOptions } from "../../common/option-checks.js";
import { checkClient, checkQueueName } from "../client-methods.js";
import { createJobRunner, type InboxWorkerOptions } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import { DEFAULT_QUEUE } from "../retry-options.js";
import { repeat } from "../watch.js";
import type { PgBossConsumer } from "./client.js";
import { createDeadWatch } from "./dead-watch.js";
import { pollQueue } from "./poll.js";
import { createResults } from "./results.js";
import { createRunJob } from "./run.js";
import { WorkerStoppingError } from "../stop-reasons.js";
import { schemaOption } from "./sql.js";

/** Options of `pgBossConsume`. */
export interface PgBossConsumeOptions extends InboxWorkerOptions {
  /** A started `PgBoss` of version 10. One at least on the database has to have `supervise` on, the default. */
  boss: PgBossConsumer;
  /** The queue's name, default `"gateway-deliveries"`. */
  queue?: string | undefined;
  /** How many jobs run at a time. From 1 to 1 000, default 10. */
  concurrency?: number | undefined;
  /** The pause after which an empty queue is asked again. Milliseconds, from 100 to 600 000, default 1 000. */
  pollIntervalMs?: number | undefined;
  /** The schema that the PgBoss was made with, default `"pgboss"`. */
  schema?: string | undefined;
}

const OPTION_NAMES = [
  "boss",
  "queue",
  "handlers",
  "concurrency",
  "pollIntervalMs",
  "schema",
  "onJob",
  "logger",
];
const CONCURRENCY = { fallback: 10, min: 1, max: 1_000 };
const POLL_INTERVAL = { fallback: 1_000, min: 100, max: 600_000 };
/** Dead letters that no worker has reported are looked for once in so many polls. */
const POLLS_PER_LOOK = 10;

/**
 * Works a queue of pg-boss with the typed handlers of a receiver. A handler that throws makes pg-boss try
 * the job again and dead-letter it at its limit; `RetryLater` does so in its own time; `DiscardDelivery`
 * completes the job. A job runs at least once: where a worker crashes it runs again once it has expired,
 * with `context.takeover`. `context.signal` aborts on expiry and when the worker is stopped.
 *
 * A job that is done with keeps its id and loses its body. One that is dead is reported to `onJob` and the log
 * by the worker that fails it. One that expires at its last attempt is failed by pg-boss: the workers look for
 * dead letters that were not reported every 10 polls, so each is reported at least once. Where a handler ends
 * after its job has expired, the report comes then.
 *
 * Returns the function that stops it: no further job is fetched, and its promise resolves when the running
 * ones have settled or expired; a database that gives no answer is waited for 10 seconds. It never
 * rejects. Stop the worker before the PgBoss.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function pgBossConsume(options: PgBossConsumeOptions): () => Promise<void> {
  const own = ownOptions("pgBossConsume", options, OPTION_NAMES);
  const { boss, queue = DEFAULT_QUEUE, handlers, onJob, logger } = own;
  checkClient("boss", boss, ["fetch", "getDb"]);
  checkQueueName("queue", queue);
  const schema = schemaOption(own.schema);
  const concurrency = integerOption("concurrency", own.concurrency, CONCURRENCY);
  const pollIntervalMs = integerOption("pollIntervalMs", own.pollIntervalMs, POLL_INTERVAL);
  const queueName = queue === DEFAULT_QUEUE ? "" : `, queueName: ${JSON.stringify(queue)}`;
  const runner = createJobRunner(
    { handlers, onJob, logger },
    (id) => `deadDeliveries({ boss${queueName} }).replay([${JSON.stringify(id)}])`,
  );

  const { log } = runner;
  const stopping = new AbortController();
  const results = createResults(boss, queue, schema);
  const watch = createDeadWatch(boss, queue, schema, runner.reportGivenUp);
  const runJob = createRunJob(runner, results, watch, stopping.signal);
  const polled = pollQueue(
    (batchSize) => boss.fetch(queue, { batchSize, includeMetadata: true }),
    runJob,
    { concurrency, pollIntervalMs },
    stopping.signal,
    log,
  );
  const look = () =>
    watch.look().catch((error: unknown) => {
      const line = "pg-boss's dead letters could not be looked at";
      log("error", line, { error: queueErrorOf("pg-boss", error) });
    });
  const watched = repeat(look, POLLS_PER_LOOK * pollIntervalMs, stopping.signal);
  const stopped = Promise.all([polled, watched]).then(() => undefined);
  return () => {
    stopping.abort(new WorkerStoppingError());
    return stopped;
  };
}
