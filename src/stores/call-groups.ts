import type { ClaimOptions, CompleteOptions } from "./delivery-store.js";
import { Semaphore } from "../common/semaphore.js";
import { DeadlineError } from "../common/timers.js";
import type { Deadline } from "./call-limits.js";

/** At most this many groups of one verb are on their way to the server. */
const MAX_GROUPS = 2;
/** A group has at most this many calls. */
const MAX_CALLS = 200;
/** At most this many calls of groups that failed are on their way, each on its own. */
const MAX_ALONE = 4;

/** One call of a verb of a store. */
export interface KeyedCall {
  readonly key: string;
  readonly deadline: Deadline;
}

/** A claim of a store. */
export interface ClaimCall extends KeyedCall, ClaimOptions {
  readonly owner: string;
}

/** A completion of a store. */
export interface CompleteCall extends KeyedCall, CompleteOptions {
  readonly owner: string;
}

/** The deadline of the call that has the most time left. */
export function latestDeadline(calls: readonly KeyedCall[]): Deadline {
  return calls
    .map(({ deadline }) => deadline)
    .reduce((one, other) => (one.remainingMs() < other.remainingMs() ? other : one));
}

/** How long a call waits for a row that another transaction has. `long` is until the deadline of the call. */
export type LockWait = "none" | "brief" | "long";

/** One verb of a store, such as claim. */
export interface GroupedVerb<Call extends KeyedCall, Result> {
  /**
   * Runs two or more calls in one transaction, which fails if another transaction has the row of one of them
   * for longer than `wait`. Their keys differ and ascend. Resolves to the results in the order of the calls;
   * undefined for a call that another change overtook.
   */
  readonly together: (
    calls: readonly Call[],
    wait: LockWait,
  ) => Promise<readonly (Result | undefined)[]>;
  /** Runs one call, and retries what can be retried. */
  readonly alone: (call: Call, wait: LockWait) => Promise<Result>;
  /** Whether a call failed with `error` because another transaction has its row. */
  readonly isLocked: (error: unknown) => boolean;
}

/** A call, and the promise of its caller. */
interface Sent<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the calls of one verb in groups, so that calls at the same time share a round trip and a commit. A
 * call is sent at once if none is on its way. Otherwise it joins the next group, which leaves at the end of
 * this turn of the event loop, or when one of two groups is back.
 *
 * Calls share no failure: if a group fails, each of its calls is sent on its own. Two calls for one key are
 * never on their way at the same time, so a call that waits for a locked row delays only calls for the
 * same key.
 */
export class CallGroups<Call extends KeyedCall, Result> {
  readonly #verb: GroupedVerb<Call, Result>;
  #waiting: Sent<Call, Result>[] = [];
  /** The keys of the calls that are on their way. */
  readonly #keys = new Set<string>();
  #groups = 0;
  #isScheduled = false;
  // Two limits, so that calls whose rows are locked delay none of the others.
  readonly #singles = new Semaphore(MAX_ALONE);
  readonly #locked = new Semaphore(MAX_ALONE);
  /** How many calls wait for a locked row. While there are some, the others find out without a wait. */
  #lockedCalls = 0;

  constructor(verb: GroupedVerb<Call, Result>) {
    this.#verb = verb;
  }

  /** Sends a call, now or in a later group. */
  send(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (this.#groups === 0) this.#sendGroup();
      else this.#sendGroupSoon();
    });
  }

  /** Sends a group when all calls of this turn of the event loop have joined it. */
  #sendGroupSoon(): void {
    if (this.#isScheduled || this.#groups >= MAX_GROUPS) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendGroup();
    });
  }

  #sendGroup(): void {
    if (this.#groups >= MAX_GROUPS) return;
    const group = this.#takeGroup();
    if (group.length === 0) return;
    this.#groups += 1;
    void this.#run(group).finally(() => {
      this.#groups -= 1;
      this.#sendGroup();
    });
  }

  /** Takes the calls of the next group, in the order of their keys. */
  #takeGroup(): Sent<Call, Result>[] {
    const group: Sent<Call, Result>[] = [];
    const later: Sent<Call, Result>[] = [];
    for (const sent of this.#waiting) {
      const { key, deadline } = sent.call;
      if (deadline.isOver()) {
        sent.reject(new DeadlineError("the wait for other calls of the store", deadline.limitMs));
      } else if (group.length === MAX_CALLS || this.#keys.has(key)) {
        later.push(sent);
      } else {
        this.#keys.add(key);
        group.push(sent);
      }
    }
    this.#waiting = later;
    // Every process locks its rows in the same order, so that no two groups wait for each other.
    return group.sort((one, other) => (one.call.key < other.call.key ? -1 : 1));
  }

  get #wait(): LockWait {
    return this.#lockedCalls > 0 ? "none" : "brief";
  }

  /** Resolves when the group is back. Calls that are then sent on their own may still be on their way. */
  async #run(group: readonly Sent<Call, Result>[]): Promise<void> {
    const [first] = group;
    if (first !== undefined && group.length === 1) return this.#runAlone(first, this.#wait);
    try {
      const calls = group.map(({ call }) => call);
      const results = await this.#verb.together(calls, this.#wait);
      group.forEach((sent, index) => {
        const result = results[index];
        if (result === undefined) this.#runAloneSoon(sent, this.#wait);
        else this.#resolve(sent, result);
      });
    } catch (error) {
      for (const sent of group) {
        // The time of all of them is over if the server has not answered.
        if (sent.call.deadline.isOver()) this.#reject(sent, error);
        else this.#runAloneSoon(sent, "none");
      }
    }
  }

  #runAloneSoon(sent: Sent<Call, Result>, wait: LockWait): void {
    void this.#singles.run(() => this.#runAlone(sent, wait));
  }

  async #runAlone(sent: Sent<Call, Result>, wait: LockWait): Promise<void> {
    try {
      this.#resolve(sent, await this.#verb.alone(sent.call, wait));
    } catch (error) {
      if (wait === "long" || !this.#verb.isLocked(error)) this.#reject(sent, error);
      else void this.#waitForRow(sent);
    }
  }

  async #waitForRow(sent: Sent<Call, Result>): Promise<void> {
    this.#lockedCalls += 1;
    await this.#locked.run(() => this.#runAlone(sent, "long"));
    this.#lockedCalls -= 1;
  }

  #resolve(sent: Sent<Call, Result>, result: Result): void {
    this.#leave(sent);
    sent.resolve(result);
  }

  #reject(sent: Sent<Call, Result>, error: unknown): void {
    this.#leave(sent);
    sent.reject(error);
  }

  #leave({ call }: Sent<Call, Result>): void {
    this.#keys.delete(call.key);
    // A call for the same key may be waiting.
    if (this.#waiting.length > 0) this.#sendGroupSoon();
  }
}
