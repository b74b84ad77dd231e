import { ConcurrencyLimit } from "../common/concurrency-limit.js";
import { isPromise, type ValueOrPromise, type MaybePromise } from "../common/promises.js";
import { isOnWorkers } from "../common/runtime.js";
import { DeadlineError, pause, within } from "../common/timers.js";
import type { WebhookType } from "../delivery/headers.js";

const WHAT = "the secret function";
/** Extra time for timers that are late on a busy process. */
const GRACE_MS = 1_000;
/** Where calls are not shared: how many run at once, and how often one that waits looks again. */
const MAX_UNSHARED = 100;
const LOOK_MS = 10;

/** A call of the secret function that runs. */
interface Call<Found> {
  readonly result: Promise<Found>;
  /** By `performance.now()`. A call that is older belongs to a request that its runtime has ended. */
  readonly endsAt: number;
  /** It took longer than it may. */
  isLate: boolean;
}

/**
 * Calls a secret function, each call for at most `timeoutMs` milliseconds. Anyone can send forgeries, and each is
 * looked up before it is refused, so deliveries of one type share the call that runs: however many come, at most one
 * runs for each documented type. On Cloudflare Workers a request must not await the promise of another one, so there
 * each has a call of its own, and at most 100 run at once.
 */
export class SecretLookups<Found> {
  readonly #find: (query: { type: WebhookType }) => MaybePromise<Found>;
  readonly #timeoutMs: number;
  readonly #running = new Map<WebhookType, Call<Found>>();
  readonly #unshared: ConcurrencyLimit | undefined;

  constructor(find: (query: { type: WebhookType }) => MaybePromise<Found>, timeoutMs: number) {
    this.#find = find;
    this.#timeoutMs = timeoutMs;
    if (isOnWorkers()) this.#unshared = new ConcurrencyLimit(MAX_UNSHARED, timeoutMs + GRACE_MS);
  }

  /** Throws or rejects when the function does, and with a `DeadlineError` when the time is over. */
  lookUp(type: WebhookType): ValueOrPromise<Found> {
    const until = performance.now() + this.#timeoutMs;
    if (this.#unshared !== undefined) return this.#lookUpAlone(type, this.#unshared, until);
    const running = this.#runningCall(type);
    return running === undefined ? this.#start(type) : this.#join(type, running, until);
  }

  #runningCall(type: WebhookType): Call<Found> | undefined {
    const call = this.#running.get(type);
    return call !== undefined && performance.now() < call.endsAt ? call : undefined;
  }

  #start(type: WebhookType): ValueOrPromise<Found> {
    const find = this.#find;
    const found = find({ type });
    if (!isPromise(found)) return found;
    const result = within(this.#timeoutMs, WHAT, found);
    const endsAt = performance.now() + this.#timeoutMs + GRACE_MS;
    const call: Call<Found> = { result, endsAt, isLate: false };
    this.#running.set(type, call);
    const end = (error?: unknown): void => {
      call.isLate = error instanceof DeadlineError;
      if (this.#running.get(type) === call) this.#running.delete(type);
    };
    result.then(() => end(), end);
    return result;
  }

  /** Waits for the call of another delivery. If that takes too long and time is left, it waits for the next one. */
  async #join(type: WebhookType, call: Call<Found>, until: number): Promise<Found> {
    try {
      return await within(remainingMs(until), WHAT, call.result);
    } catch (error) {
      if (!call.isLate || performance.now() >= until) throw error;
    }
    const next = this.#runningCall(type);
    if (next !== undefined) return this.#join(type, next, until);
    return within(remainingMs(until), WHAT, Promise.resolve(this.#start(type)));
  }

  async #lookUpAlone(type: WebhookType, limit: ConcurrencyLimit, until: number): Promise<Found> {
    while (limit.isReached()) {
      if (performance.now() >= until) throw new DeadlineError(WHAT, this.#timeoutMs);
      await pause(LOOK_MS);
    }
    const slot = limit.enter();
    const leave = (): void => limit.leave(slot);
    const find = this.#find;
    // Resolved in a promise, so that a function that throws leaves its slot, too.
    const found = Promise.resolve().then(() => find({ type }));
    const result = within(this.#timeoutMs, WHAT, found);
    result.then(leave, leave);
    return within(remainingMs(until), WHAT, result);
  }
}

/** Whole milliseconds until a time of `performance.now()`. */
function remainingMs(until: number): number {
  return Math.max(0, Math.ceil(until - performance.now()));
}
