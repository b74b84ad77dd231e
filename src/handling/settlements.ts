import type { Log } from "../answer/logger.js";
import { isPromise, type MaybePromise, type ValueOrPromise } from "../common/promises.js";
import { within } from "../common/timers.js";
import type { HostDeadline } from "../delivery/request.js";
import type { CompleteOptions, DeliveryStore } from "../stores/delivery-store.js";
import type { StoreCalls } from "../telemetry/store-calls.js";
import type { ClaimTimes, Unfinished } from "./claim.js";
import { SettlementBacklog } from "./settlement-backlog.js";

/** The two calls that end a claim. */
type Settlement = "complete" | "release";

const FAILED = {
  complete: "completion failed: the delivery is handled, and the completion is retried",
  release:
    "release failed: it is retried; the next attempt waits for it or for the end of the lease",
};

/**
 * Ends claims: completes or releases them. If the store fails, the call is repeated in the background. Every
 * call is bounded, and none throws or rejects.
 */
export class Settlements {
  readonly #store: DeliveryStore;
  readonly #log: Log;
  readonly #calls: StoreCalls;
  // Made once, not for each delivery.
  readonly #completeOptions: CompleteOptions;
  readonly #timeoutMs: number;
  /** Ids that were handled here and whose completion is on its way to the store. */
  readonly #completing = new Set<string>();
  /** Completions that the store has not taken yet, by id. */
  readonly completions: SettlementBacklog;
  /**
   * Releases that the store has not taken yet, by owner: each claim has its own, so a late release ends no
   * other claim on the id.
   */
  readonly #releases = new SettlementBacklog(() => undefined);

  constructor(store: DeliveryStore, times: ClaimTimes, log: Log, calls: StoreCalls) {
    this.#store = store;
    this.#log = log;
    this.#calls = calls;
    this.#completeOptions = { retentionMs: times.retentionMs };
    this.#timeoutMs = times.dependencyTimeoutMs;
    this.completions = new SettlementBacklog((id) => {
      log.error("completion given up: too many wait for the store; it may be handled again", {
        id,
      });
    });
  }

  /** Whether `id` was handled here, even if the store does not know it yet. */
  isHandled(id: string): boolean {
    return (this.#completing.size > 0 && this.#completing.has(id)) || this.completions.has(id);
  }

  /** Remembers `id` as handled, or ends the lease on it for the next attempt. */
  settle(
    call: Settlement,
    id: string,
    owner: string,
    deadline: HostDeadline | undefined,
  ): ValueOrPromise<Unfinished | undefined> {
    try {
      const sent = this.#send(call, id, owner);
      if (isPromise(sent)) return this.#settleLater(call, id, owner, sent, deadline);
    } catch (error) {
      this.#calls.failed(call);
      return this.#retry(call, id, owner, error);
    }
  }

  /**
   * Calls the store in the background until it has taken the call; then the promise resolves. Until `until`,
   * by `performance.now()`, the call is repeated even if it succeeds.
   */
  repeat(call: Settlement, id: string, owner: string, until?: number): Promise<void> {
    const run = () => this.#calls.run(this.#timeoutMs, call, () => this.#send(call, id, owner));
    return call === "complete"
      ? this.completions.add(id, run, until)
      : this.#releases.add(owner, run, until);
  }

  /** Repeats what waits once more now, for the shorter of `timeoutMs` and `dependencyTimeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    const flushMs = Math.min(timeoutMs, this.#timeoutMs);
    const flushed = Promise.all([this.completions.flush(), this.#releases.flush()]);
    // A shutdown does not wait for a store that is down.
    await within(flushMs, "the last completions and releases", flushed).catch(() => undefined);
  }

  #send(call: Settlement, id: string, owner: string): MaybePromise<void> {
    return call === "complete"
      ? this.#store.complete(id, owner, this.#completeOptions)
      : this.#store.release(id, owner);
  }

  #settleLater(
    call: Settlement,
    id: string,
    owner: string,
    sent: PromiseLike<void>,
    deadline: HostDeadline | undefined,
  ): Promise<Unfinished | undefined> {
    const isCompletion = call === "complete";
    if (isCompletion) this.#completing.add(id);
    const end = (unfinished?: Unfinished): Unfinished | undefined => {
      if (isCompletion) this.#completing.delete(id);
      return unfinished;
    };
    const timeoutMs = deadline?.storeMs(this.#timeoutMs) ?? this.#timeoutMs;
    return this.#calls.within(timeoutMs, call, sent).then(
      () => end(),
      (error: unknown) => end(this.#retry(call, id, owner, error)),
    );
  }

  #retry(call: Settlement, id: string, owner: string, error: unknown): Unfinished {
    this.#log.error(FAILED[call], { id, error });
    return { work: this.repeat(call, id, owner) };
  }
}
