import { invalidOption } from "../common/errors.js";
import { integerOption, ownOptions } from "../common/option-checks.js";
import type { MaybePromise } from "../common/promises.js";
import { replayGrowing, type Replayed, type WatchedReplay } from "./growing-replay.js";
import { queueErrorOf } from "./queue-error.js";

export type { Replayed } from "./growing-replay.js";

/** A delivery whose job has failed for good. Holds nothing of the body. */
export interface DeadDelivery {
  /** X-Webhook-Id; if the job cannot be read, the engine's id of the job. */
  readonly id: string;
  /** X-Webhook-Type; undefined if the job cannot be read. */
  readonly type: string | undefined;
  /** Number of attempts since the delivery was queued or last replayed. */
  readonly attempts: number;
  /** When it failed for good. */
  readonly failedAt: Date;
  /** Name, code and first words of the last error. The log and `onJob` have the whole error. */
  readonly error: string;
}

/** Options of `DeadDeliveries.list`. */
export interface ListOptions {
  /** The most deliveries to return. From 1 to 1 000, default 100. */
  limit?: number | undefined;
  /**
   * How many to skip. From 0 to 1 000 000 000, default 0. A replay or a discard shortens the list, so
   * start at 0 again after it.
   */
  offset?: number | undefined;
}

/** Options of `DeadDeliveries.replay`. */
export interface ReplayOptions {
  /**
   * Replays one delivery first, then 5, then 25, then the rest. Each group starts when a worker has handled the
   * one before. It stops at the first run that fails, so that a fix that is not one costs a few deliveries their
   * attempts and not all. Default false.
   */
  growing?: boolean | undefined;
  /**
   * How long a group may take, if `growing`. After that it stops. Milliseconds, from 1 000 to 86 400 000, default
   * 600 000 (10 minutes).
   */
  groupTimeoutMs?: number | undefined;
}

/** What `discard` did with each id. */
export interface Discarded {
  /** Gone, with its body. Only the store of the receiver still knows the id. */
  readonly discarded: readonly string[];
  /** Not dead: unknown, handled, replayed, or discarded by another call. */
  readonly notFound: readonly string[];
}

/**
 * The deliveries of a queue whose jobs have failed for good. Every method rejects with
 * `ConfigurationError` for a wrong argument, and with an error that quotes no body if the engine fails.
 */
export interface DeadDeliveries {
  /** Lists dead deliveries, the oldest first. */
  list(options?: ListOptions): Promise<DeadDelivery[]>;
  /**
   * Runs deliveries again, with all attempts. `"all"` means all that are dead now. If two calls name the same
   * delivery at the same time, one of them replays it and the other has it in `notFound`. With `growing` it
   * resolves when the last group is replayed, or when it stops.
   */
  replay(ids: readonly string[] | "all", options?: ReplayOptions): Promise<Replayed>;
  /** Gives up deliveries for good and removes their bodies. */
  discard(ids: readonly string[]): Promise<Discarded>;
}

/** The dead jobs of an engine. Arguments are checked; `ids` has no repetitions and at most 100 ids. */
export interface DeadLetters extends Pick<WatchedReplay, "replay"> {
  /** The oldest first. */
  list(limit: number, offset: number): Promise<DeadDelivery[]>;
  /** Resolves to the ids that it found. */
  discard(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Begins a growing replay. */
  watch(): MaybePromise<WatchedReplay>;
}

const LIMIT = { fallback: 100, min: 1, max: 1_000 };
const OFFSET = { fallback: 0, min: 0, max: 1_000_000_000 };
const GROUP_TIMEOUT = { fallback: 600_000, min: 1_000, max: 86_400_000 };
const BATCH_SIZE = 100;

/**
 * Checks the arguments of the public methods, splits long lists of ids, and replaces the errors of `engine`, which may
 * quote a body.
 */
export function deadDeliveriesOf(engine: string, letters: DeadLetters): DeadDeliveries {
  const safely = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act();
    } catch (error) {
      throw queueErrorOf(engine, error);
    }
  };
  return {
    async list(options = {}) {
      const own = ownOptions("list", options, ["limit", "offset"]);
      const limit = integerOption("limit", own.limit, LIMIT);
      const offset = integerOption("offset", own.offset, OFFSET);
      return safely(() => letters.list(limit, offset));
    },
    async replay(ids, options = {}) {
      const own = ownOptions("replay", options, ["growing", "groupTimeoutMs"]);
      const timeoutMs = integerOption("groupTimeoutMs", own.groupTimeoutMs, GROUP_TIMEOUT);
      const given = ids === "all" ? undefined : checkedIds(ids, ', or "all"');
      return safely(async () => {
        const wanted = given ?? (await allIds(letters));
        if (own.growing !== true) return replayBy(letters, wanted);
        const watched = await letters.watch();
        try {
          const replay = (group: readonly string[]) => replayBy(watched, group);
          const unhandled = (group: readonly string[]) => watched.unhandled(group);
          return await replayGrowing([...new Set(wanted)], replay, unhandled, timeoutMs);
        } finally {
          await watched.end?.();
        }
      });
    },
    async discard(ids) {
      const wanted = checkedIds(ids, "");
      const discard = (batch: readonly string[]) => letters.discard(batch);
      const { found, notFound } = await safely(() => inBatches(wanted, discard));
      return { discarded: found, notFound };
    },
  };
}

async function allIds(letters: DeadLetters): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; ; offset += LIMIT.max) {
    const page = await letters.list(LIMIT.max, offset);
    if (page.length === 0) return ids;
    for (const { id } of page) ids.push(id);
  }
}

async function replayBy(
  letters: Pick<WatchedReplay, "replay">,
  ids: readonly string[],
): Promise<Replayed> {
  const { found, notFound } = await inBatches(ids, (batch) => letters.replay(batch));
  return { replayed: found, notFound };
}

async function inBatches(
  ids: readonly string[],
  act: (batch: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<{ found: string[]; notFound: string[] }> {
  const unique = [...new Set(ids)];
  const found: string[] = [];
  const notFound: string[] = [];
  for (let start = 0; start < unique.length; start += BATCH_SIZE) {
    const batch = unique.slice(start, start + BATCH_SIZE);
    const done = await act(batch);
    for (const id of batch) (done.has(id) ? found : notFound).push(id);
  }
  return { found, notFound };
}

function checkedIds(ids: unknown, alternative: string): readonly string[] {
  if (Array.isArray(ids) && ids.every((id) => typeof id === "string")) return ids;
  throw invalidOption(`ids must be an array of delivery ids${alternative}`);
}
