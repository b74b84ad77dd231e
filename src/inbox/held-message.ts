import { hasCode } from "../common/errors.js";
import { within } from "../common/timers.js";
import { jobLockLost } from "./job-failure.js";
import type { QueueMessage } from "./queue-driver.js";

/** A message that a run holds, from its receipt until its settlement. */
export class HeldMessage {
  readonly message: QueueMessage;
  readonly #controller = new AbortController();
  readonly #onLost = (): void => this.#lose();
  #extending: Promise<unknown> | undefined;
  #isEnded = false;
  #isLost = false;

  constructor(message: QueueMessage) {
    this.message = message;
    if (message.lost?.aborted === true) this.#lose();
    else message.lost?.addEventListener("abort", this.#onLost);
  }

  /** The signal of the handler. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the engine may have given it to another worker. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Whether its handler was told to stop because the worker stops. */
  get isCutOff(): boolean {
    return hasCode(this.signal.reason, "worker_stopping");
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Keeps the message for `ms` from now. Resolves to false if it is lost; rejects if the engine does not answer. */
  async extend(ms: number): Promise<boolean> {
    const { message } = this;
    if (this.#isEnded || this.#isLost || message.extend === undefined) return !this.#isLost;
    const extending = within(ms / 3, "extend", (async () => message.extend?.(ms))());
    this.#extending = extending.catch(() => undefined);
    if ((await extending) === false) this.#lose();
    return !this.#isLost;
  }

  /**
   * Ends the extensions. Resolves when none is on its way: an engine that gets one after the settlement may
   * refuse it, or take the message back.
   */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.message.lost?.removeEventListener("abort", this.#onLost);
    await this.#extending;
  }

  #lose(): void {
    this.#isLost = true;
    this.#controller.abort(jobLockLost());
  }
}
