import { isSecretProbe, type Ending, type Trace } from "../answer/trace.js";
import { MinuteRing } from "./minute-ring.js";
import { OUTCOME_FACTS, RUNS, type Run } from "./outcome-facts.js";
import { TOTALS, type Tally, type TotalName } from "./tally.js";

/** The times that are remembered. Those of runs follow. */
const TIMES = ["started", "authentic", "new_alarm", "delete_my_data_event"] as const;
const MORE_TIMES = ["storeError", "pending", "unhandled", "drifted"] as const;
const NAMES = [...TIMES, ...MORE_TIMES, ...RUNS] as const;

/** A time that is remembered: of the first of a run, of the last of anything else. */
export type TimeName = (typeof NAMES)[number];

/** What is counted since the start, or since a day without any. */
type DailyName = "unhandled" | "drifted";

const AT = Object.fromEntries(NAMES.map((name, index) => [name, index])) as Record<
  TimeName,
  number
>;
/** Most requests, so it is looked up once. */
const HANDLED = OUTCOME_FACTS.handled;
const STORE = RUNS.indexOf("store");
const DAY_MS = 86_400_000;
/** The largest time of a `Date`. */
const MAX_MS = 8.64e15;

/** What the counts need of the receiver. */
export interface HealthCountsOptions {
  readonly now: () => number;
  readonly handlerTimeoutMs: number;
  readonly tally: Tally;
  /** The number of handled deliveries whose completion the store has not taken yet. */
  readonly completionsPending: () => number;
}

/**
 * Remembers what a receiver's requests say about its health: times, and failures in a row. The counts are those of
 * the tally. No method throws.
 */
export class HealthCounts {
  readonly ring: MinuteRing<TotalName>;
  readonly #options: HealthCountsOptions;
  readonly #slowMs: number;
  /** NaN for what has not happened. */
  readonly #times = new Float64Array(NAMES.length).fill(Number.NaN);
  readonly #runs = new Uint32Array(RUNS.length);
  /** A bit for each run that is not 0. */
  #running = 0;
  #nowMs = 0;
  /** What the tally had before the first, since the start or since a day without any. */
  readonly #before = { unhandled: 0, drifted: 0 };
  /** Called before the counts turn to another minute. */
  onTurn: (nowMs: number) => void = () => undefined;
  /** Called when the clock was set back: no remembered time may be later than this. */
  onSetBack: (nowMs: number) => void = () => undefined;

  constructor(options: HealthCountsOptions) {
    this.#options = options;
    this.ring = new MinuteRing(TOTALS, (name) => options.tally.total(name));
    this.#slowMs = options.handlerTimeoutMs / 2;
    this.readClock();
  }

  /** Called once per request, when its outcome is known, and before the tally counts it. */
  note(trace: Trace, { outcome, unfinished }: Ending): void {
    const facts = outcome === "handled" ? HANDLED : OUTCOME_FACTS[outcome];
    if (!facts.isDone && isSecretProbe(trace, outcome)) {
      // It only shows that the secret is right.
      this.#endRuns(OUTCOME_FACTS.stale.ends);
      return;
    }
    const { slot, checkedAtMs, type, recovered } = trace;
    // A request that did not wait has just read the clock, which takes 1 % of a delivery.
    const nowMs =
      slot === undefined && checkedAtMs > 0 ? this.#seen(checkedAtMs) : this.readClock();
    if (facts.isAuthentic && !recovered) this.#times[AT.authentic] = nowMs;
    const isSent = facts.isDone && !recovered;
    if (isSent && (type === "new_alarm" || type === "delete_my_data_event")) {
      this.#times[AT[type]] = nowMs;
    }
    const isSlow = slot !== undefined && nowMs - checkedAtMs > this.#slowMs;
    if (isSlow && facts.ranHandler && outcome !== "handler_timeout") {
      this.#options.tally.events.slowHandlers += 1;
    }
    if (outcome === "unhandled") this.#noteTotal("unhandled", nowMs);
    // The store has granted the claim, but not taken the completion.
    const ends = unfinished === undefined ? facts.ends : facts.ends & ~(1 << STORE);
    if ((this.#running & ends) !== 0) this.#endRuns(ends);
    if (facts.prolongs >= 0) this.#prolong(facts.prolongs, nowMs);
    if (unfinished !== undefined && facts.isDone) this.#noteFailedCompletion(unfinished, nowMs);
  }

  /** Called when a handler has settled after `handler_timeout`. Its request was counted then. */
  noteLate({ outcome, unfinished }: Ending): void {
    const isDone = OUTCOME_FACTS[outcome].isDone;
    if (unfinished !== undefined && isDone) {
      this.#noteFailedCompletion(unfinished, this.readClock());
    }
  }

  /** Called for each delivery with something that is not documented, before the tally counts it. */
  noteDrift(): void {
    this.#noteTotal("drifted", this.readClock());
  }

  /** Reads the clock, and turns the counts to its minute. The last time if it gives no time. */
  readClock(): number {
    try {
      return this.#seen(this.#options.now());
    } catch {
      return this.#nowMs;
    }
  }

  /** Undefined for what has not happened. */
  timeOf(name: TimeName): number | undefined {
    const time = this.#times[AT[name]];
    return time === undefined || Number.isNaN(time) ? undefined : time;
  }

  /** How many there were in a row, up to now. */
  runOf(run: Run): number {
    return this.#runs[RUNS.indexOf(run)] ?? 0;
  }

  /** How many there were since the start, or since a day without any; 0 a day after the last. */
  totalOf(name: DailyName): number {
    const last = this.timeOf(name);
    const isOver = last === undefined || this.#nowMs - last > DAY_MS;
    return isOver ? 0 : this.#options.tally.total(name) - this.#before[name];
  }

  /** `nowMs` comes from the user's clock: it may be no time, or earlier than before. */
  #seen(nowMs: number): number {
    // 0 is the clock of Cloudflare Workers while a module loads.
    if (!(nowMs > 0 && nowMs <= MAX_MS)) return this.#nowMs;
    if (nowMs < this.#nowMs) this.#setBack(nowMs);
    this.#nowMs = nowMs;
    if (this.ring.turnTo(nowMs)) this.#turn(nowMs);
    return nowMs;
  }

  #turn(nowMs: number): void {
    if (Number.isNaN(this.#times[AT.started])) this.#times[AT.started] = nowMs;
    this.onTurn(nowMs);
  }

  #setBack(nowMs: number): void {
    // NaN stays NaN.
    this.#times.forEach((time, at) => (this.#times[at] = Math.min(time, nowMs)));
    this.onSetBack(nowMs);
  }

  #noteTotal(name: DailyName, nowMs: number): void {
    if (this.totalOf(name) === 0) this.#before[name] = this.#options.tally.total(name);
    this.#times[AT[name]] = nowMs;
  }

  #prolong(run: number, nowMs: number): void {
    if (this.#runs[run] === 0) this.#times[AT.mismatch + run] = nowMs;
    if (run === STORE) this.#times[AT.storeError] = nowMs;
    this.#runs[run] = (this.#runs[run] ?? 0) + 1;
    this.#running |= 1 << run;
  }

  #endRuns(ends: number): void {
    this.#running &= ~ends;
    for (let run = 0; run < RUNS.length; run += 1) {
      if ((ends & (1 << run)) !== 0) this.#runs[run] = 0;
    }
  }

  #noteFailedCompletion(unfinished: Promise<void>, nowMs: number): void {
    this.#options.tally.events.completionsFailed += 1;
    this.#prolong(STORE, nowMs);
    if (Number.isNaN(this.#times[AT.pending])) this.#times[AT.pending] = nowMs;
    void unfinished.then(() => {
      if (this.#options.completionsPending() > 0) return;
      this.#times[AT.pending] = Number.NaN;
      // The store has taken them all.
      this.#endRuns(1 << STORE);
    });
  }
}
