import { consoleLines, Log, checkLogger, type WebhookLogger } from "../answer/logger.js";
import { invalidOption } from "../common/errors.js";
import { InFlightCount } from "../common/in-flight-count.js";
import { integerOptions, missingMethod, ownOptions } from "../common/option-checks.js";
import type { DeliveryContext } from "../handling/delivery-context.js";
import type { WebhookHandlers } from "../handling/handlers.js";
import { INTEGER_OPTIONS as RECEIVER_OPTIONS } from "../options/options.js";
import { checkStore, ownLimitOf } from "../options/settings.js";
import type { DeliveryStore } from "../stores/delivery-store.js";
import type { TransactionalStore } from "../stores/transactional-store.js";
import { Observer } from "../telemetry/observation.js";
import type { WebhookTelemetry } from "../telemetry/telemetry.js";
import { HeldMessage } from "./held-message.js";
import { workerStopping } from "./job-failure.js";
import { JobHandling } from "./job-handling.js";
import { JobReporter, type OnJob } from "./job-report.js";
import { JobRuns } from "./job-runs.js";
import { checkOverflow, type InboxOverflow } from "./overflow.js";
import type { QueueConsumer, QueueMessage, Receiving } from "./queue-driver.js";
import { queueErrorOf, RepetitionFilter } from "./queue-error.js";
import { RETRY_OPTIONS, type RetryOptions } from "./queue-options.js";

/** Options of `inboxConsume`. `driver`, `store` and `handlers` are required. */
export interface InboxConsumeOptions<Tx = never> extends RetryOptions {
  /** The queue: a driver of this package, or your own. */
  driver: QueueConsumer;
  /**
   * Remembers which jobs were handled, since no broker remembers an id for as long as the gateway may repeat it.
   * It may be the store of the receiver. With a `TransactionalStore` the handlers get `context.tx`, and a
   * handler's writes and the memory of the id are one transaction.
   */
  store: [Tx] extends [never] ? DeliveryStore : TransactionalStore<Tx>;
  /** The handlers, at least one. They are typed and checked as those of a receiver. */
  handlers: NoInfer<WebhookHandlers<DeliveryContext<Tx>>>;
  /**
   * Called once for each run of a job, after the engine has its result, and once for each job that the
   * engine gives up. A crash between the two loses a report, so watch the number of dead jobs too. Its errors
   * and rejections are ignored. Default: none.
   */
  onJob?: OnJob | undefined;
  /** How many jobs run at the same time. From 1 to 1 000, default 10; never more than the store allows. */
  concurrency?: number | undefined;
  /** As in the receiver: how long a claim holds without renewal. Each third of it the message is extended too. */
  leaseMs?: number | undefined;
  /** As in the receiver: how long a handled id is remembered. */
  retentionMs?: number | undefined;
  /**
   * After this time a run counts as failed and `context.signal` aborts. Milliseconds, default 900 000 (15
   * minutes), and never more than the driver's `maxRunMs`.
   */
  handlerMaxMs?: number | undefined;
  /** As in the receiver: bounds every call of the store. */
  dependencyTimeoutMs?: number | undefined;
  /** Has the bodies that were too large for the queue, as given to `inbox`. Default: none. */
  overflow?: InboxOverflow | undefined;
  /**
   * Sees each run of a job, and runs around its handler: `openTelemetry()` of `/opentelemetry`, or your own.
   * Default: none.
   */
  telemetry?: WebhookTelemetry | undefined;
  /** Where warnings and errors go; `false` for nowhere. Default: the console. No line holds a body. */
  logger?: WebhookLogger | false | undefined;
}

/** A worker at work. */
export interface InboxConsumer {
  /**
   * Runs one message and settles it, for an engine that calls from outside: Lambda's event source, Workers'
   * `queue`. Extends it at once if it has `extend`, since the engine does not know `leaseMs`. Never rejects.
   */
  readonly run: (message: QueueMessage) => Promise<void>;
  /**
   * Takes no further jobs and aborts `context.signal` of the running ones. Resolves when they have settled, or
   * after `timeoutMs`; default: as long as they take. Never rejects. Stop the worker before the engine's client.
   */
  readonly stop: (options?: { readonly timeoutMs?: number | undefined }) => Promise<void>;
}

const { leaseMs, retentionMs, handlerMaxMs, dependencyTimeoutMs } = RECEIVER_OPTIONS;
const INTEGER_OPTIONS = {
  ...RETRY_OPTIONS,
  leaseMs,
  retentionMs,
  handlerMaxMs,
  dependencyTimeoutMs,
  concurrency: { fallback: 10, min: 1, max: 1_000 },
};
const OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "driver",
  "store",
  "handlers",
  "onJob",
  "overflow",
  "telemetry",
  "logger",
];

/** `--module` names a file that exports the driver. */
const REPLAY = "npx identity-gateway-webhooks jobs replay";

/** An id for a shell. That of an unreadable job is what another program put there. */
function shellWord(id: string): string {
  return /^[\w.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`;
}

/**
 * Handles the jobs of a queue with the typed handlers of a receiver, each once: the store remembers its id, so a
 * broker that delivers twice still means one run. After the handler the store gets the completion, and only
 * then the queue gets the result.
 *
 * If a handler throws, the job runs again, and is dead after the last attempt. A run that fails while the
 * worker stops is no attempt. `RetryLater` sets the delay of the next run. `DiscardDelivery`
 * completes the job. The job of a crashed worker runs again, with `context.takeover`. `context.signal` aborts when the
 * lease or the message is lost, after `handlerMaxMs`, and when the worker stops.
 *
 * @example
 * ```ts
 * const worker = inboxConsume({
 *   driver,
 *   store: postgresStore({ pool }),
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 *   onJob: ({ outcome, id }) => outcome === "dead" && alertOperators(id),
 * });
 * process.once("SIGTERM", () => void worker.stop());
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function inboxConsume<Tx = never>(options: InboxConsumeOptions<Tx>): InboxConsumer {
  const own = ownOptions("inboxConsume", options, OPTION_NAMES);
  const { driver, handlers, onJob, overflow, telemetry, logger = consoleLines } = own;
  checkLogger(logger);
  if (typeof driver !== "object" || (driver as unknown) === null || !("extends" in driver)) {
    throw invalidOption("driver must be a driver of a queue");
  }
  if ((own.store as unknown) === undefined) {
    throw invalidOption("store must be given: the worker remembers in it which jobs were handled");
  }
  checkOverflow(overflow);
  const store = checkStore(own.store);
  const integers = integerOptions(own, INTEGER_OPTIONS);
  const concurrency = Math.min(integers.concurrency, ownLimitOf(store) ?? Infinity);
  const { name: queueName, maxRunMs = Infinity } = driver;
  const log = new Log(logger);
  const times = { ...integers, handlerMaxMs: Math.min(integers.handlerMaxMs, maxRunMs) };
  const handling = new JobHandling(store, times, concurrency, log);
  store.connectReceiver?.({
    warn: log.warn.bind(log),
    // The counter is the receiver's.
    noteForgets: () => undefined,
    dependencyTimeoutMs: integers.dependencyTimeoutMs,
  });
  const observer = new Observer("job", telemetry, log);
  const canReplay = missingMethod(driver, ["replay"]) === undefined;
  const reporter = new JobReporter(log, onJob, (id) =>
    canReplay ? `${REPLAY} ${shellWord(id)} --module <file>` : "by the means of your engine.",
  );
  const runs = new JobRuns({
    handlers: handlers as WebhookHandlers,
    handling,
    reporter,
    observer,
    overflow,
    queueName,
    retries: integers,
    log,
  });

  const running = new InFlightCount();
  const held = new Set<HeldMessage>();
  let isStopped = false;
  const run = async (message: QueueMessage, isFromOutside = false): Promise<void> => {
    const one = new HeldMessage(message);
    running.enter();
    held.add(one);
    if (isFromOutside) void handling.extend(one, message.id);
    if (isStopped) one.abort(workerStopping());
    try {
      await runs.run(one);
    } finally {
      held.delete(one);
      running.leave();
    }
  };

  const repetitions = new RepetitionFilter();
  const receiving: Receiving | undefined = driver.receive?.((message) => run(message), {
    concurrency,
    leaseMs: integers.leaseMs,
    onError(error) {
      const known = queueErrorOf("the queue", error);
      if (repetitions.isNew(known)) log.error("the queue reports an error", { error: known });
    },
    onBuried(message, reason) {
      reporter.reportGivenUp(message, reason, observer.begin());
    },
  });

  return {
    run: (message) => run(message, true),
    async stop({ timeoutMs = Infinity } = {}) {
      isStopped = true;
      const until = performance.now() + timeoutMs;
      const leftMs = () => Math.max(0, until - performance.now());
      for (const one of held) one.abort(workerStopping());
      try {
        await receiving?.stop({ timeoutMs });
      } catch (thrown) {
        const error = queueErrorOf("the queue", thrown);
        log.error("the worker could not be stopped in order: its last jobs may run again", {
          error,
        });
      }
      await running.waitUntilIdle(leftMs());
      await handling.flush(leftMs());
    },
  };
}
