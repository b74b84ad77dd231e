const MINUTE_MS = 60_000;
/** The current minute and the 15 before it. */
const MINUTES = 16;

/** Counts that only grow, by their names. */
type Counts<Name extends string> = Readonly<Record<Name, number>>;

/**
 * By how much counts have grown in the last 15 minutes. It counts nothing: it keeps what the counts were when each
 * minute began, always 16 times. A minute that nothing was counted in is empty, also after hours. A clock that
 * is set back moves all minutes back with it, so they keep their age.
 */
export class MinuteRing<Name extends string> {
  readonly #names: readonly Name[];
  readonly #read: (name: Name) => number;
  /** The counts when each minute began, the oldest first. */
  #begins: readonly Counts<Name>[];
  /** When the current minute began. NaN until the clock gives a time. */
  #beginsAt = Number.NaN;

  /** `read` gives a count as it is now. */
  constructor(names: readonly Name[], read: (name: Name) => number) {
    this.#names = names;
    this.#read = read;
    this.#begins = this.#minutes(MINUTES);
  }

  /**
   * Turns to the minute of `nowMs`, Unix milliseconds: what is counted from now on is of that minute. Whether that
   * is another minute than before.
   */
  turnTo(nowMs: number): boolean {
    if (nowMs >= this.#beginsAt && nowMs < this.#beginsAt + MINUTE_MS) return false;
    const beginsAt = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    if (beginsAt > this.#beginsAt) {
      const turns = Math.min((beginsAt - this.#beginsAt) / MINUTE_MS, MINUTES);
      this.#begins = [...this.#begins.slice(turns), ...this.#minutes(turns)];
    }
    this.#beginsAt = beginsAt;
    return true;
  }

  /** How much was counted under the names in all minutes. */
  sum(names: readonly Name[]): number {
    return this.#grown(this.#read, names);
  }

  /** When the oldest minute with a count under one of the names began; undefined if there is none. */
  firstAt(names: readonly Name[]): number | undefined {
    if (this.sum(names) === 0 || Number.isNaN(this.#beginsAt)) return undefined;
    const next = this.#begins.findIndex((counts) => this.#grown((name) => counts[name], names) > 0);
    const age = next === -1 ? 0 : MINUTES - next;
    return this.#beginsAt - age * MINUTE_MS;
  }

  /** Minutes that begin now. */
  #minutes(length: number): readonly Counts<Name>[] {
    const counts = Object.fromEntries(this.#names.map((name) => [name, this.#read(name)]));
    return Array.from({ length }, () => counts as Counts<Name>);
  }

  /** By how much counts are more than when the oldest minute began. */
  #grown(countOf: (name: Name) => number, names: readonly Name[]): number {
    const [oldest] = this.#begins;
    return names.reduce((sum, name) => sum + countOf(name) - (oldest?.[name] ?? 0), 0);
  }
}
