import type { SecretFunction } from "./secrets.js";
import { ConcurrencyLimit } from "../common/concurrency-limit.js";
import { isPromise, type ValueOrPromise } from "../common/promises.js";
import { isOnWorkers } from "../common/runtime.js";
import { DeadlineError, pause, within } from "../common/timers.js";
import type { WebhookType } from "../delivery/headers.js";

const WHAT = "the secret function";
/** Extra time for timers that are late on a busy process. */
const GRACE_MS = 1_000;
/** How much later a call that is late is given up. */
const HUNG_MS = 60_000;
/** Where calls are not shared: how many run at once, and how often one that waits looks again. */
const MAX_UNSHARED = 100;
const LOOK_MS = 10;

/** What a secret function may return. */
export type FoundSecrets = Awaited<ReturnType<SecretFunction>>;

/** A call of the secret function that runs. */
interface Call {
  readonly found: Promise<FoundSecrets>;
  /** By `performance.now()`. After it the call is given up. */
  readonly endsAt: number;
  /** It took longer than `timeoutMs`, and its timer has said so: its runtime still keeps the call. */
  isLate: boolean;
}

/**
 * Calls a secret function, each call for at most `timeoutMs` milliseconds. Anyone can send forgeries, and each is
 * looked up before it is refused, so deliveries of one type share the call that runs: however many come, at most one
 * runs for each documented type. A call that is late is waited for too, so that calls do not pile up in front of a
 * vault that hangs. It is given up a minute later: the connection of a call may be dead without anyone's notice. On Cloudflare Workers a request must not await the promise of another one, so there
 * each has a call of its own, and at most 100 run at once.
 */
export class SecretLookups {
  readonly #find: SecretFunction;
  readonly #timeoutMs: number;
  readonly #running = new Map<WebhookType, Call>();
  readonly #unshared: ConcurrencyLimit | undefined;

  constructor(find: SecretFunction, timeoutMs: number) {
    this.#find = find;
    this.#timeoutMs = timeoutMs;
    if (isOnWorkers()) this.#unshared = new ConcurrencyLimit(MAX_UNSHARED, timeoutMs + GRACE_MS);
  }

  /** Throws or rejects when the function does, and with a `DeadlineError` when the time is over. */
  lookUp(type: WebhookType): ValueOrPromise<FoundSecrets> {
    if (this.#unshared !== undefined) return this.#lookUpAlone(type, this.#unshared);
    const call = this.#running.get(type);
    if (call === undefined || hasEnded(call)) return this.#start(type);
    return within(this.#timeoutMs, WHAT, call.found);
  }

  #start(type: WebhookType): ValueOrPromise<FoundSecrets> {
    const find = this.#find;
    const given = find({ type });
    if (!isPromise(given)) return given;
    const found = Promise.resolve(given);
    const endsAt = performance.now() + this.#timeoutMs + GRACE_MS;
    const call: Call = { found, endsAt, isLate: false };
    this.#running.set(type, call);
    const end = (): void => {
      if (this.#running.get(type) === call) this.#running.delete(type);
    };
    found.then(end, end);
    const result = within(this.#timeoutMs, WHAT, found);
    result.catch((error: unknown) => {
      call.isLate = error instanceof DeadlineError;
    });
    return result;
  }

  async #lookUpAlone(type: WebhookType, limit: ConcurrencyLimit): Promise<FoundSecrets> {
    const until = performance.now() + this.#timeoutMs;
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

/** Whether a call is given up. Without its timer it belongs to a request that its runtime has ended. */
function hasEnded({ endsAt, isLate }: Call): boolean {
  return performance.now() >= endsAt + (isLate ? HUNG_MS : 0);
}

/** Whole milliseconds until a time of `performance.now()`. */
function remainingMs(until: number): number {
  return Math.max(0, Math.ceil(until - performance.now()));
}
