import { isSecretProbe, type Ending, type Trace } from "../answer/trace.js";
import { typeLabel, type TypeLabel } from "../delivery/headers.js";
import { MinuteRing } from "./minute-ring.js";
import { HEALTH_REASONS } from "./health-reasons.js";
import { RefusedRetries } from "./refused-retries.js";
import {
  DAILY_RUNS,
  isLoss,
  LOSSES_ENDED,
  OUTCOME_FACTS,
  REFUSALS_ENDED,
  RUNS,
  type RefusedType,
  type Run,
} from "./outcome-facts.js";
import { TOTALS, type MeasuredReceiver, type Tally, type TotalName } from "./tally.js";

/** A failure that is counted in a row. */
interface RunCount {
  /** How many there were, up to now; 0 once one request has shown that they are over. */
  count: number;
  /** When the first of them came, in Unix milliseconds. */
  firstMs: number;
  /** When the last one came, also of a run that is over; NaN for never. */
  lastMs: number;
}

const DAY_MS = 86_400_000;
/** The largest time of a `Date`. */
const MAX_MS = 8.64e15;

/** What the counts need of the receiver. */
export interface HealthCountsOptions extends Pick<
  MeasuredReceiver,
  "tally" | "completionsPending"
> {
  readonly now: () => number;
  readonly handlerTimeoutMs: number;
}

/**
 * Remembers what a receiver's requests say about its health: times, and failures in a row. The counts are those of
 * the tally. No method throws.
 */
export class HealthCounts {
  readonly ring: MinuteRing<TotalName>;
  readonly tally: Tally;
  readonly refusedRetries = new RefusedRetries();
  readonly #options: HealthCountsOptions;
  readonly #slowMs: number;
  /** When each happened, the first of `pending`. NaN for what has not. */
  readonly #times = { started: NaN, pending: NaN };
  readonly #runs = Object.fromEntries(
    RUNS.map((run): [Run, RunCount] => [run, { count: 0, firstMs: NaN, lastMs: NaN }]),
  ) as Record<Run, RunCount>;
  /** Whether no run has begun yet: then none has to end. */
  #isQuiet = true;
  #nowMs = 0;
  /** Called before the counts turn to another minute. */
  onTurn: (nowMs: number) => void = () => undefined;
  /** Called when the clock was set back: no remembered time may be later than this. */
  onSetBack: (nowMs: number) => void = () => undefined;

  constructor(options: HealthCountsOptions) {
    this.#options = options;
    this.tally = options.tally;
    this.ring = new MinuteRing(TOTALS, (name) => this.tally.total(name));
    this.#slowMs = options.handlerTimeoutMs / 2;
    this.readClock();
  }

  /** Called once per request, when its outcome is known, and before the tally counts it. */
  note(trace: Trace, { outcome, unfinished }: Ending): void {
    const facts = OUTCOME_FACTS[outcome];
    const { slot, checkedAtMs, type, recovered, claimed, claimedId } = trace;
    const label = typeLabel(type);
    if (claimed === "other") {
      // Anyone can make up a type, and the gateway sends only the documented ones.
      this.readClock();
      return;
    }
    if (!facts.isDone && isSecretProbe(trace, outcome)) {
      // It only shows that the secret is right.
      this.#endRuns(OUTCOME_FACTS.stale.ends);
      this.#endRefusals(label);
      return;
    }
    // A request that did not wait has just read the clock, which takes 1 % of a delivery.
    const nowMs =
      slot === undefined && checkedAtMs > 0 ? this.#seen(checkedAtMs) : this.readClock();
    if (facts.isAuthentic && !recovered) {
      const tally = this.tally.byType[label];
      tally.lastAuthenticMs = nowMs;
      if (facts.isDone) tally.lastAcknowledgedMs = nowMs;
      this.#endRefusals(label);
    }
    const isSlow = slot !== undefined && nowMs - checkedAtMs > this.#slowMs;
    if (isSlow && facts.ranHandler && outcome !== "handler_timeout") {
      this.tally.events.slowHandlers += 1;
    }
    if (outcome === "handled") this.#endRuns(LOSSES_ENDED[label]);
    else if (isLoss(outcome)) this.#prolong(`${outcome}.${label}`, nowMs);
    // The store has granted the claim, but not taken the completion.
    const isTaken = unfinished === undefined;
    this.#endRuns(isTaken ? facts.ends : facts.ends.filter((run) => run !== "store"));
    if (facts.prolongs !== undefined) this.#prolong(facts.prolongs, nowMs);
    if (claimed !== undefined) {
      this.#prolong(claimed, nowMs);
      if (claimedId !== undefined) this.refusedRetries.note(claimed, claimedId, nowMs);
    }
    if (unfinished !== undefined && facts.isDone) this.#noteFailedCompletion(unfinished, nowMs);
  }

  /** Called when a handler has settled after `handler_timeout`. Its request was counted then. */
  noteLate({ type }: Trace, { outcome, unfinished }: Ending): void {
    if (outcome === "handled") this.#endRuns(LOSSES_ENDED[typeLabel(type)]);
    const isDone = OUTCOME_FACTS[outcome].isDone;
    if (unfinished !== undefined && isDone) {
      this.#noteFailedCompletion(unfinished, this.readClock());
    }
  }

  /** Called for each delivery with something that is not documented. */
  noteDrift(): void {
    this.#prolong("drifted", this.readClock());
  }

  /** Reads the clock, and turns the counts to its minute. The last time if it gives no time. */
  readClock(): number {
    try {
      return this.#seen(this.#options.now());
    } catch {
      return this.#nowMs;
    }
  }

  /** NaN for what has not happened. */
  timeOf(name: "started" | "pending"): number {
    return this.#times[name];
  }

  /** From the first to the last refused request of a type since its last authentic one; 0 below the count of the reason. */
  refusedMs(type: RefusedType): number {
    const { count, firstMs, lastMs } = this.#runs[type];
    return count >= HEALTH_REASONS.all_refused.min ? lastMs - firstMs : 0;
  }

  /** A failure, as often as it came in a row, up to now. */
  runOf(run: Run): Readonly<RunCount> {
    return this.#runs[run];
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
    if (Number.isNaN(this.#times.started)) this.#times.started = nowMs;
    this.#endRuns(DAILY_RUNS.filter((run) => nowMs - this.#runs[run].lastMs > DAY_MS));
    this.onTurn(nowMs);
  }

  #setBack(nowMs: number): void {
    // NaN stays NaN.
    const clamp = <Name extends string>(times: Record<Name, number>, ...names: Name[]): void => {
      for (const name of names) times[name] = Math.min(times[name], nowMs);
    };
    clamp(this.#times, "started", "pending");
    for (const run of Object.values(this.#runs)) clamp(run, "firstMs", "lastMs");
    for (const tally of Object.values(this.tally.byType)) {
      clamp(tally, "lastAuthenticMs", "lastAcknowledgedMs");
    }
    this.refusedRetries.clear();
    this.onSetBack(nowMs);
  }

  #prolong(name: Run, nowMs: number): void {
    const run = this.#runs[name];
    this.#isQuiet = false;
    if (run.count === 0) run.firstMs = nowMs;
    run.lastMs = nowMs;
    run.count += 1;
  }

  #endRuns(ends: readonly Run[]): void {
    if (this.#isQuiet) return;
    for (const run of ends) this.#runs[run].count = 0;
  }

  #endRefusals(label: TypeLabel): void {
    // A refused retry prolongs a run too.
    if (this.#isQuiet) return;
    this.#endRuns(REFUSALS_ENDED[label]);
    this.refusedRetries.end(REFUSALS_ENDED[label]);
  }

  #noteFailedCompletion(unfinished: Promise<void>, nowMs: number): void {
    this.tally.events.completionsFailed += 1;
    this.#prolong("store", nowMs);
    if (Number.isNaN(this.#times.pending)) this.#times.pending = nowMs;
    void unfinished.then(() => {
      if (this.#options.completionsPending() > 0) return;
      this.#times.pending = Number.NaN;
      // The store has taken them all.
      this.#runs.store.count = 0;
    });
  }
}
