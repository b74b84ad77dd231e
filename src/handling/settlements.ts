import type { Log } from "../answer/logger.js";
import { isPromise, type MaybePromise, type ValueOrPromise } from "../common/promises.js";
import { within } from "../common/timers.js";
import type { HostDeadline } from "../delivery/request.js";
import type { CompleteOptions, DeliveryStore } from "../stores/delivery-store.js";
import type { StoreCalls } from "../telemetry/tally.js";
import type { HandlingTimes } from "./handling.js";
import { keysOf } from "./once-per-record.js";
import { SettlementBacklog } from "./settlement-backlog.js";

/** The two calls that end a claim. */
type Settlement = "complete" | "release";

/**
 * A completion or release that the store has not taken yet. Wrapped in an object, because a promise that
 * resolved to the promise `work` would wait for it too.
 */
export interface Unfinished {
  /** Resolves when the store has taken it, or it is given up. */
  readonly work: Promise<void>;
}

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
  /** Keys that were handled here and that the store may not know yet, with the owner whose completion is on its way. */
  readonly #handled = new Map<string, string>();
  /** Completions that the store has not taken yet, by id. */
  readonly completions: SettlementBacklog;
  /**
   * Releases that the store has not taken yet, by owner: each claim has its own, so a late release ends no
   * other claim on the id.
   */
  readonly #releases = new SettlementBacklog(() => undefined);

  constructor(store: DeliveryStore, times: HandlingTimes, log: Log, calls: StoreCalls) {
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

  /** Whether a delivery id, or the key of a record, was handled here and the store may not know it yet. */
  isHandled(key: string | undefined): boolean {
    return this.#handled.size > 0 && key !== undefined && this.#handled.has(key);
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
    if (call === "release") return this.#releases.add(owner, run, until);
    const forget = this.#noteHandled(id, owner);
    return this.completions.add(id, run, until).then(forget);
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
    const forget = call === "complete" ? this.#noteHandled(id, owner) : () => undefined;
    const timeoutMs = deadline?.storeMs(this.#timeoutMs) ?? this.#timeoutMs;
    return this.#calls
      .within(timeoutMs, call, sent)
      .then(forget, (error: unknown) => this.#retry(call, id, owner, error));
  }

  /** Returns what forgets it, unless another completion is on its way. */
  #noteHandled(id: string, owner: string): () => undefined {
    const keys = keysOf(id, owner);
    for (const key of keys) this.#handled.set(key, owner);
    return () => {
      for (const key of keys) if (this.#handled.get(key) === owner) this.#handled.delete(key);
    };
  }

  #retry(call: Settlement, id: string, owner: string, error: unknown): Unfinished {
    this.#log.error(FAILED[call], { id, error });
    return { work: this.repeat(call, id, owner) };
  }
}
