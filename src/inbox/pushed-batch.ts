import { pause } from "../common/timers.js";
import { ownLimitOf } from "../options/settings.js";
import { inboxConsume, type InboxConsumeOptions } from "./consume.js";
import type { QueueConsumer, QueueMessage } from "./queue-driver.js";

/** The time of one batch that an engine has handed over. */
export interface BatchTime {
  /** Aborts shortly before the platform ends the function. It is the `lost` of the messages. */
  readonly lost: AbortSignal;
  /** Whether the function has returned. A message that settles later may be another worker's. */
  hasReturned: boolean;
}

/** Makes the message of an item. Undefined: it is not to be run now. */
type MessageOf<Item> = (
  item: Item,
  time: BatchTime,
) => Promise<QueueMessage | undefined> | QueueMessage;

/** How long before its end a function stops its handlers, at most. Half of it is for handlers that end then. */
const MARGIN_MS = 1_000;

/**
 * Makes the worker of an engine that hands over batches. It runs what is in `lanes`, at most as many lanes at once as
 * the worker has `concurrency`, and ends in time, `leftMs` from its start. `isSettled` says whether the engine has the
 * result of an item: the rest of a lane is not run if it has not. Throws `ConfigurationError` for an invalid option.
 */
export function pushedWorker<Tx>(options: InboxConsumeOptions<Tx>, driver: QueueConsumer) {
  const { run } = inboxConsume<Tx>({ ...options, driver });
  const { concurrency = 10, store } = options;
  const most = Math.min(concurrency, ownLimitOf(store) ?? Infinity);

  return async <Item>(
    lanes: readonly (readonly Item[])[],
    leftMs: number,
    messageOf: MessageOf<Item>,
    isSettled: (item: Item) => boolean,
  ): Promise<void> => {
    const [deadline, ended] = [new AbortController(), new AbortController()];
    const time: BatchTime = { lost: deadline.signal, hasReturned: false };
    const waiting = [...lanes];
    const runLane = async (lane: readonly Item[]): Promise<void> => {
      for (const item of lane) {
        if (deadline.signal.aborted) return;
        const message = await messageOf(item, time);
        if (message !== undefined) await run(message);
        if (!isSettled(item)) return;
      }
    };
    const runLanes = async (): Promise<void> => {
      for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
        await runLane(lane);
      }
    };
    const untilDeadline = async (): Promise<void> => {
      const marginMs = Math.min(MARGIN_MS, leftMs / 2);
      await pause(leftMs - marginMs, ended.signal);
      if (ended.signal.aborted) return;
      deadline.abort();
      await pause(marginMs / 2, ended.signal);
    };
    await Promise.race([Promise.all(Array.from({ length: most }, runLanes)), untilDeadline()]);
    ended.abort();
    time.hasReturned = true;
  };
}
