import { ConfigurationError } from "../common/errors.js";
import { integerOption, ownOptions } from "../common/option-checks.js";

/** A delivery whose job failed for good. Nothing of its body. */
export interface DeadDelivery {
  /** X-Webhook-Id; the engine's own id of the job where the job cannot be read. */
  readonly id: string;
  /** X-Webhook-Type; undefined where the job cannot be read. */
  readonly type: string | undefined;
  /** How often it was tried, since its last replay. */
  readonly attempts: number;
  /** When it failed for good. */
  readonly failedAt: Date;
  /** Name, code and first words of the last error. The whole error is in the log and in `onJob`. */
  readonly error: string;
}

/** Which of the dead deliveries to list, the oldest first. */
export interface ListOptions {
  /** How many at most. From 1 to 1 000, default 100. */
  limit?: number | undefined;
  /** How many to leave out. Start at 0 again after a replay or discard. From 0 to 1 000 000 000, default 0. */
  offset?: number | undefined;
}

/** What `replay` did with each id. */
export interface Replayed {
  /** Waits for a worker again. */
  readonly replayed: readonly string[];
  /** Not dead: unknown, handled, discarded, or replayed by someone else. */
  readonly notFound: readonly string[];
}

/** What `discard` did with each id. */
export interface Discarded {
  /** Never handled. Its id stays known as long as that of a handled delivery. */
  readonly discarded: readonly string[];
  /** Not dead: unknown, handled, replayed, or discarded by someone else. */
  readonly notFound: readonly string[];
}

/**
 * The deliveries of a queue whose jobs failed for good. Every method rejects with an error without a body
 * where the engine does, and with `ConfigurationError` for a wrong argument.
 */
export interface DeadDeliveries {
  /** Lists dead deliveries, the oldest first. */
  list(options?: ListOptions): Promise<DeadDelivery[]>;
  /**
   * Runs deliveries again, with all of their attempts and `context.takeover`: the effect of an earlier run
   * may be there. Of two calls at once for one delivery one replays it, and the other has it in `notFound`.
   * `"all"`: those that are dead when it is called.
   */
  replay(ids: readonly string[] | "all"): Promise<Replayed>;
  /** Gives deliveries up for good. Their bodies are removed. */
  discard(ids: readonly string[]): Promise<Discarded>;
}

/** What the engine does. */
export interface DeadLetters {
  /** The oldest first. */
  readonly list: (limit: number, offset: number) => Promise<DeadDelivery[]>;
  /** Each returns the ids that it found. At most `BATCH` at a time, without repetitions. */
  readonly replay: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly discard: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
}

const LIMIT = { fallback: 100, min: 1, max: 1_000 };
const OFFSET = { fallback: 0, min: 0, max: 1_000_000_000 };
const BATCH = 100;

/** Makes the public methods of what an engine does. */
export function deadDeliveriesOf(letters: DeadLetters): DeadDeliveries {
  const allIds = async (): Promise<string[]> => {
    const ids: string[] = [];
    for (let offset = 0; ; offset += LIMIT.max) {
      const page = await letters.list(LIMIT.max, offset);
      if (page.length === 0) return ids;
      for (const { id } of page) ids.push(id);
    }
  };

  const inBatches = async (
    ids: readonly string[],
    act: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<{ found: string[]; notFound: string[] }> => {
    const unique = [...new Set(ids)];
    const found: string[] = [];
    const notFound: string[] = [];
    for (let start = 0; start < unique.length; start += BATCH) {
      const batch = unique.slice(start, start + BATCH);
      const done = await act(batch);
      for (const id of batch) (done.has(id) ? found : notFound).push(id);
    }
    return { found, notFound };
  };

  return {
    async list(options = {}) {
      const own = ownOptions("list", options, ["limit", "offset"]);
      const limit = integerOption("limit", own.limit, LIMIT);
      return letters.list(limit, integerOption("offset", own.offset, OFFSET));
    },
    async replay(ids) {
      const wanted = ids === "all" ? await allIds() : checkedIds(ids, ', or "all"');
      const { found, notFound } = await inBatches(wanted, letters.replay);
      return { replayed: found, notFound };
    },
    async discard(ids) {
      const { found, notFound } = await inBatches(checkedIds(ids, ""), letters.discard);
      return { discarded: found, notFound };
    },
  };
}

function checkedIds(ids: unknown, or: string): readonly string[] {
  if (Array.isArray(ids) && ids.every((id) => typeof id === "string")) return ids;
  throw new ConfigurationError("invalid_option", `ids has to be an array of delivery ids${or}`);
}
