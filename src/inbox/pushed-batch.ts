import { ownLimitOf } from "../options/settings.js";
import { inboxConsume, type InboxConsumer, type InboxConsumeOptions } from "./consume.js";
import type { QueueConsumer } from "./queue-driver.js";

/** A worker whose messages an engine hands over in batches. */
export interface PushedWorker {
  readonly run: InboxConsumer["run"];
  /**
   * Runs what is in `lanes`, at most as many lanes at once as the worker has `concurrency`. A lane ends when `runOne`
   * resolves to false.
   */
  runLanes<Item>(
    lanes: readonly (readonly Item[])[],
    runOne: (item: Item) => Promise<boolean>,
  ): Promise<void>;
}

/** Makes the worker of a driver that does not poll. Throws `ConfigurationError` for an invalid option. */
export function pushedWorker<Tx>(
  options: InboxConsumeOptions<Tx>,
  driver: QueueConsumer,
): PushedWorker {
  const { run } = inboxConsume<Tx>({ ...options, driver });
  const { concurrency = 10, store } = options;
  const most = Math.min(concurrency, ownLimitOf(store) ?? Infinity);
  return {
    run,
    async runLanes(lanes, runOne) {
      const waiting = [...lanes];
      const runNext = async (): Promise<void> => {
        for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
          for (const item of lane) if (!(await runOne(item))) break;
        }
      };
      await Promise.all(Array.from({ length: most }, runNext));
    },
  };
}
