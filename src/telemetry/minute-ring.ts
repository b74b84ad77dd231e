const MINUTE_MS = 60_000;
/** The current minute and the 15 before it. */
const MINUTES = 16;

/**
 * Counts of the last 15 minutes: a fixed array, whatever happens. A minute that nothing was counted in is empty,
 * also after hours. A clock that is set back moves all counts back with it, so they keep their age.
 */
export class MinuteRing {
  readonly #columns: number;
  readonly #counts: Uint32Array;
  /** Where the counts of the current minute begin. */
  #current = 0;
  /** The current minute, since 1970. */
  #minute = Number.NaN;
  #beginsAt = Number.NaN;

  constructor(columns: number) {
    this.#columns = columns;
    this.#counts = new Uint32Array(columns * MINUTES);
  }

  /** Turns to the minute of `nowMs`, Unix milliseconds. Whether that is another minute than before. */
  turnTo(nowMs: number): boolean {
    if (nowMs >= this.#beginsAt && nowMs < this.#beginsAt + MINUTE_MS) return false;
    const minute = Math.floor(nowMs / MINUTE_MS);
    const turns = Math.min(minute - this.#minute, MINUTES);
    for (let turn = 0; turn < turns; turn += 1) {
      this.#current = (this.#current + this.#columns) % this.#counts.length;
      this.#counts.fill(0, this.#current, this.#current + this.#columns);
    }
    this.#minute = minute;
    this.#beginsAt = minute * MINUTE_MS;
    return true;
  }

  /** Counts one in the current minute. */
  add(column: number): void {
    const at = this.#current + column;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  /** The sum of columns over all minutes. */
  sum(columns: readonly number[]): number {
    let sum = 0;
    for (let minute = 0; minute < this.#counts.length; minute += this.#columns) {
      for (const column of columns) sum += this.#counts[minute + column] ?? 0;
    }
    return sum;
  }

  /** When the oldest minute with a count in one of the columns began; undefined if there is none. */
  firstAt(columns: readonly number[]): number | undefined {
    for (let age = MINUTES - 1; age >= 0; age -= 1) {
      const minute = this.#current - age * this.#columns + this.#counts.length;
      const at = minute % this.#counts.length;
      if (columns.some((column) => (this.#counts[at + column] ?? 0) > 0)) {
        return this.#beginsAt - age * MINUTE_MS;
      }
    }
    return undefined;
  }
}
