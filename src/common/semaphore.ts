/** Limits how many tasks run at a time. Waiting tasks start in the order in which they came. */
export class Semaphore {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** @param limit How many tasks may run at a time. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `task` as soon as there is room for it. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#acquire();
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  /** Resolves when there is room for a task and no earlier task waits for it. */
  async available(): Promise<void> {
    await this.#acquire();
    this.#release();
  }

  #acquire(): Promise<void> {
    if (this.#running < this.#limit) {
      this.#running++;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    const next = this.#waiting.shift();
    // The place passes directly to the next task. If it were freed first, a newer task could take it.
    if (next === undefined) this.#running--;
    else next();
  }
}
