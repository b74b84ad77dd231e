import { invalidOption } from "../common/errors.js";
import { integerOption, isObject, ownOptions } from "../common/option-checks.js";
import { accountOfJob } from "./inbox-job.js";
import { checkOverflow, isInOverflow, removeBodies, type InboxOverflow } from "./overflow.js";
import { queueErrorOf } from "./queue-error.js";

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
   * The most deliveries to replay, the oldest first. So a fix that is not one costs a few deliveries their attempts
   * and not all. From 1 on. Default: no limit.
   */
  max?: number | undefined;
}

/** What `replay` did with each id. Those beyond `max` are in neither list. */
export interface Replayed {
  /** Waits for a worker again. */
  readonly replayed: readonly string[];
  /** Not dead: unknown, handled, discarded, or replayed by another call. */
  readonly notFound: readonly string[];
}

/** An account of the gateway: that of an alarm or an Online Data event. */
export interface OfAccount {
  readonly accountId: number;
}

/** Options of `DeadDeliveries.discard`. */
export interface DiscardOptions {
  /**
   * That of `inbox`: its `delete` removes bodies that are there. Default: none. Then an account with a body there is
   * refused. Ids are not checked for it, and the bodies of their jobs stay there.
   */
  overflow?: InboxOverflow | undefined;
}

/** What `discard` did with each id. */
export interface Discarded {
  /** Gone, with its body; from `overflow` only if that was given. Only the store of the receiver still knows the id. */
  readonly discarded: readonly string[];
  /** Not dead: unknown, handled, replayed, or discarded by another call. Of an account: being replayed meanwhile. */
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
   * delivery at the same time, one of them replays it and the other has it in `notFound`.
   */
  replay(ids: readonly string[] | "all", options?: ReplayOptions): Promise<Replayed>;
  /**
   * Gives up deliveries for good and removes their bodies: those that are named, or all of an account, as when it has
   * ended. One of the account that is replayed meanwhile is in `notFound`; if its handler fails again, a second call
   * finds it. If bodies cannot be removed from `overflow`, it tries all, then rejects with an error (`queue_failed`)
   * whose message has the keys of those that remain: remove them yourself, since no second call finds them.
   */
  discard(which: readonly string[] | OfAccount, options?: DiscardOptions): Promise<Discarded>;
}

/** A dead delivery, and the data of its job. */
export interface DeadJob extends DeadDelivery {
  readonly data: unknown;
}

/** The dead jobs of an engine. Arguments are checked; `ids` has no repetitions. */
export interface DeadLetters {
  /** The oldest first. */
  list(limit: number, offset: number): Promise<DeadJob[]>;
  /** Takes the jobs of at most `max` of these deliveries away, and puts them again or not. Adds their ids to `found`. */
  take(
    ids: readonly string[] | "all",
    max: number,
    then: "replay" | "discard",
    found: Set<string>,
  ): Promise<void>;
}

const LIMIT = { fallback: 100, min: 1, max: 1_000 };
const OFFSET = { fallback: 0, min: 0, max: 1_000_000_000 };
const MAX = { fallback: Number.MAX_SAFE_INTEGER, min: 1, max: Number.MAX_SAFE_INTEGER };
const PAGE_SIZE = 100;
const MOST_PASSES = 10;

/** Checks the arguments of the public methods, and replaces the errors of `engine`, which may quote a body. */
export function deadDeliveriesOf(engine: string, letters: DeadLetters): DeadDeliveries {
  const safely = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act();
    } catch (error) {
      throw queueErrorOf(engine, error);
    }
  };
  const list: DeadLetters["list"] = (...page) => safely(() => letters.list(...page));
  return {
    async list(options = {}) {
      const own = ownOptions("list", options, ["limit", "offset"]);
      const limit = integerOption("limit", own.limit, LIMIT);
      const offset = integerOption("offset", own.offset, OFFSET);
      return (await list(limit, offset)).map(withoutData);
    },
    async replay(ids, options = {}) {
      const max = integerOption("max", ownOptions("replay", options, ["max"]).max, MAX);
      const wanted = ids === "all" ? ids : checkedIds(ids, ', or "all"');
      const found = new Set<string>();
      await safely(() => letters.take(wanted, max, "replay", found));
      const isReached = wanted !== "all" && found.size < max;
      return { replayed: [...found], notFound: isReached ? missingOf(wanted, found) : [] };
    },
    async discard(which, options = {}) {
      const { overflow } = ownOptions("discard", options, ["overflow"]);
      checkOverflow(overflow);
      const wanted = Array.isArray(which)
        ? checkedIds(which, "")
        : await idsOfAccount(list, checkedAccount(which), overflow);
      const found = new Set<string>();
      try {
        await safely(() => letters.take(wanted, Infinity, "discard", found));
      } finally {
        // Also if the engine failed in between: no later call finds them.
        if (overflow !== undefined) await removeBodies(overflow, found);
      }
      return { discarded: [...found], notFound: missingOf(wanted, found) };
    },
  };
}

function withoutData({ id, type, attempts, failedAt, error }: DeadJob): DeadDelivery {
  return { id, type, attempts, failedAt, error };
}

/** The ids of the dead jobs of an account. Throws `ConfigurationError` if `overflow` could not delete a body there. */
async function idsOfAccount(
  list: DeadLetters["list"],
  accountId: number,
  overflow: InboxOverflow | undefined,
): Promise<readonly string[]> {
  const ids = new Set<string>();
  for await (const { id, data } of listed(list, LIMIT.max)) {
    if (accountOfJob(data) !== accountId) continue;
    if (isInOverflow(data) && overflow?.delete === undefined) {
      throw invalidOption(
        "the account has bodies in overflow: give discard { overflow } with delete",
      );
    }
    ids.add(id);
  }
  return [...ids];
}

/**
 * The jobs of a list, in pages that may lack jobs which have left it. Those that other calls take away shift the pages,
 * so it is read again until a pass shows no new one. `taken`: those that the caller takes away as it gets them.
 */
async function* listed(
  list: DeadLetters["list"],
  pageSize: number,
  taken: ReadonlySet<string> = new Set(),
): AsyncGenerator<DeadJob> {
  const seen = new Set<string>();
  for (let pass = 0, known = -1; pass < MOST_PASSES && seen.size > known; pass += 1) {
    known = seen.size;
    for (let offset = 0; ;) {
      const before = taken.size;
      const page = await list(pageSize, offset);
      if (page.length === 0) break;
      for (const job of page) {
        seen.add(job.id);
        yield job;
      }
      offset += pageSize - (taken.size - before);
    }
  }
}

function checkedAccount(which: unknown): number {
  const { accountId } = isObject(which) ? ownOptions("discard", which, ["accountId"]) : {};
  if (typeof accountId === "number" && Number.isSafeInteger(accountId)) return accountId;
  throw invalidOption("discard takes an array of delivery ids, or { accountId } with an integer");
}

/** The dead jobs of an engine that finds a job by its id. `replay` and `discard` resolve to false if it is not dead. */
export function deadLettersById(engine: {
  readonly list: DeadLetters["list"];
  replay(id: string): Promise<boolean>;
  discard(id: string): Promise<boolean>;
}): DeadLetters {
  return {
    list: engine.list,
    async take(ids, max, then, found) {
      const tried = new Set<string>();
      const isAll = ids === "all";
      const jobs = isAll ? listed(engine.list, PAGE_SIZE, found) : ids.map((id) => ({ id }));
      for await (const { id } of jobs) {
        if (found.size >= max) break;
        // One that dies again meanwhile is not taken again.
        if (tried.has(id)) continue;
        tried.add(id);
        if (await engine[then](id)) found.add(id);
      }
    },
  };
}

function missingOf(ids: readonly string[], found: ReadonlySet<string>): string[] {
  return ids.filter((id) => !found.has(id));
}

function checkedIds(ids: unknown, alternative: string): readonly string[] {
  // A gap in the array is an undefined here.
  const given = Array.isArray(ids) ? [...new Set<unknown>(ids)] : [undefined];
  if (given.every((id) => typeof id === "string")) return given;
  throw invalidOption(`ids must be an array of delivery ids${alternative}`);
}
