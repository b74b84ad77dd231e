import { InFlightCount } from "../common/in-flight-count.js";
import { MAX_TIMER_MS, pause } from "../common/timers.js";
import type { ReceiveOptions, Receiving } from "./queue-driver.js";

type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/** How an engine hands out its messages to those who ask for them. */
export interface Polling<Item> {
  /** Takes at most `most` items. `signal` aborts when the worker stops: then it must end soon. */
  readonly take: (most: number, signal: AbortSignal) => PromiseLike<Items<Item>> | Items<Item>;
  /** Runs an item until it is settled, also one that came while the worker stops. */
  readonly run: (item: Item) => Promise<void>;
  /** How long to wait after a `take` that brought none, in milliseconds. */
  readonly idleMs: number;
}

/** How long to wait after a `take` that failed. */
const RETRY_MS = 1_000;

/** Takes and runs messages, at most `concurrency` at once, until it is stopped. */
export function pollMessages<Item>(
  { take, run, idleMs }: Polling<Item>,
  options: Pick<ReceiveOptions, "concurrency" | "onError">,
): Receiving {
  const { concurrency } = options;
  /** The loop and the items that run. */
  const work = new InFlightCount();
  let running = 0;
  let isStopped = false;
  /** Ends what the loop waits for. */
  let step = new AbortController();
  let waitsForSlot = false;

  const start = async (item: Item): Promise<void> => {
    running += 1;
    try {
      await run(item);
    } catch (error) {
      options.onError(error);
    } finally {
      running -= 1;
      if (waitsForSlot) step.abort();
    }
  };
  /** Resolves to how long to wait before the next one. */
  const takeOnce = async (most: number): Promise<number> => {
    let restMs = idleMs;
    try {
      for await (const item of await take(most, step.signal)) {
        work.track(start(item));
        restMs = 0;
      }
      return restMs;
    } catch (error) {
      if (!isStopped) options.onError(error);
      return RETRY_MS;
    }
  };
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      step = new AbortController();
      waitsForSlot = running >= concurrency;
      const restMs = waitsForSlot ? MAX_TIMER_MS : await takeOnce(concurrency - running);
      if (restMs > 0) await pause(restMs, step.signal);
    }
  };
  work.track(loop());
  return {
    async stop({ timeoutMs = Infinity } = {}) {
      isStopped = true;
      step.abort();
      await work.waitUntilIdle(timeoutMs);
    },
  };
}
