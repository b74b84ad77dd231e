/**
 * Warns once, at the first call of a store or queue, if the client has no listener for `error`. Node ends a process
 * whose emitter emits an error that no one listens for, which these clients do when a connection breaks. Not before
 * the first call, because applications add the listener after they have made the store.
 */
export class ErrorListenerCheck {
  readonly #what: string;
  readonly #emitter: unknown;
  #isDone = false;
  /** Called at each call. Undefined before `connect`, and again after its first call, which then costs nothing. */
  check: (() => void) | undefined;

  /** `what`: how the text names the client, such as "the pool of pg". `log`: where there is one without `connect`. */
  constructor(what: string, emitter: unknown, log?: { warn(message: string): void }) {
    this.#what = what;
    this.#emitter = emitter;
    if (log !== undefined) this.connect(log);
  }

  /** `log`: where the warning is written. */
  connect(log: { warn(message: string): void }): void {
    if (this.#isDone) return;
    this.check ??= () => {
      this.#isDone = true;
      this.check = undefined;
      if (!lacksListener(this.#emitter)) return;
      log.warn(
        `${this.#what} has no listener for "error", so the first connection that breaks ends the process: ` +
          'add .on("error", (error) => console.error(error)) to it',
      );
    };
  }
}

/** By structure: a wrapper that is no emitter may handle errors itself. */
function lacksListener(emitter: unknown): boolean {
  const { listenerCount } = Object(emitter) as { readonly listenerCount?: unknown };
  return typeof listenerCount === "function" && listenerCount.call(emitter, "error") === 0;
}
