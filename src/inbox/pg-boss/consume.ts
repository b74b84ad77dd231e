import { ConfigurationError } from "../../configuration-error.js";
import { integerOption } from "../../integer-option.js";
import { refuseUnknownOptions } from "../../known-options.js";
import { checkClient, checkQueueName } from "../client-methods.js";
import { inboxWorker, type InboxWorkerOptions } from "../inbox-worker.js";
import { DEFAULT_QUEUE } from "../retry-options.js";
import { createWorkerLog } from "../worker-log.js";
import type { PgBossConsumer } from "./client.js";
import { pollQueue } from "./poll.js";
import { createRunJob } from "./run.js";
import { createVerdicts } from "./verdicts.js";

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
  "logger",
];
const CONCURRENCY = { fallback: 10, min: 1, max: 1_000 };
const POLL_INTERVAL = { fallback: 1_000, min: 100, max: 600_000 };
/** pg-boss's own rule. It is written into a statement, where no name can be a parameter. */
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/;

/**
 * Works a queue of pg-boss with the typed handlers of a receiver. A handler that throws makes pg-boss try
 * the job again and dead-letter it at its limit; `RetryLater` does so in its own time; `DiscardDelivery`
 * completes the job. A job runs at least once: where a worker crashes it runs again once it has expired,
 * with `context.takeover`. `context.signal` aborts on expiry and when the worker is stopped.
 *
 * Returns the function that stops it: no further job is fetched, and its promise resolves when the running
 * ones have settled or expired; a database that gives no answer is waited for 10 seconds. It never
 * rejects. Stop the worker before the PgBoss.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function pgBossConsume(options: PgBossConsumeOptions): () => Promise<void> {
  if (typeof options !== "object" || (options as unknown) === null) {
    throw new ConfigurationError("invalid_options", "pgBossConsume takes an options object");
  }
  refuseUnknownOptions(options, OPTION_NAMES);
  const { boss, queue = DEFAULT_QUEUE, schema = "pgboss", handlers, logger } = options;
  checkClient("boss", boss, ["fetch", "complete", "getDb"]);
  checkQueueName("queue", queue);
  if (typeof (schema as unknown) !== "string" || !SCHEMA.test(schema)) {
    throw new ConfigurationError("invalid_option", "schema has to be the name of pg-boss's schema");
  }
  const concurrency = integerOption("concurrency", options.concurrency, CONCURRENCY);
  const pollIntervalMs = integerOption("pollIntervalMs", options.pollIntervalMs, POLL_INTERVAL);
  const work = inboxWorker({ handlers, logger });

  const log = createWorkerLog(logger);
  const stopping = new AbortController();
  const verdicts = createVerdicts(boss, queue, schema);
  const runJob = createRunJob(work, verdicts, stopping.signal, log);
  const stopped = pollQueue(
    (batchSize) => boss.fetch(queue, { batchSize, includeMetadata: true }),
    runJob,
    { concurrency, pollIntervalMs },
    stopping.signal,
    log,
  );
  return () => {
    stopping.abort(new Error("the worker is being stopped"));
    return stopped;
  };
}
