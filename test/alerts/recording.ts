import type { WebhookOutcome } from "../../src/answer/outcome.js";

/** Labels of a series. */
export type Labels = Readonly<Record<string, string>>;

/** Bounds of the histograms, in seconds; enough of them for the thresholds of the rules. */
const BOUNDS = [0.005, 0.05, 0.5, 1, 2.5, 5, 10, 20];

/**
 * The metrics of two processes as a scrape each minute finds them: what promtool calls input series. All
 * counters begin at 0, as those of the library do. A label `instance` that is not given is `a`.
 */
export class Recording {
  readonly #series = new Map<string, { current: number; readonly values: number[] }>();

  constructor(instances: readonly string[] = ["a", "b"]) {
    for (const instance of instances) this.request("handled", { instance }, 0);
  }

  request(outcome: WebhookOutcome, labels: Labels = {}, count = 1): void {
    this.add("gateway_webhook_requests_total", { type: "new_alarm", ...labels, outcome }, count);
  }

  add(name: string, labels: Labels = {}, count = 1): void {
    this.#at(name, labels).current += count;
  }

  set(name: string, value: number, labels: Labels = {}): void {
    this.#at(name, labels).current = value;
  }

  /** Adds to a histogram of durations. */
  observe(of: "store" | "handler", seconds: number, labels: Labels = {}, count = 1): void {
    const name = `gateway_webhook_${of}_duration_seconds`;
    for (const bound of BOUNDS) {
      this.add(`${name}_bucket`, { ...labels, le: String(bound) }, seconds <= bound ? count : 0);
    }
    this.add(`${name}_bucket`, { ...labels, le: "+Inf" }, count);
    this.add(`${name}_count`, labels, count);
  }

  /** A deployment: a process ends, and its successor counts from 0. */
  restart(instance: string): void {
    for (const [key, series] of this.#series) {
      if (key.includes(`instance="${instance}"`)) series.current = 0;
    }
  }

  /** From now on what has this label has no metrics. */
  remove(label: "job" | "instance", value: string): void {
    for (const [key, series] of this.#series) {
      if (key.includes(`${label}="${value}"`)) series.current = Number.NaN;
    }
  }

  /** Ends a minute. */
  scrape(): void {
    for (const { values, current } of this.#series.values()) values.push(current);
  }

  /** In promtool's notation, with the same value many times written once. */
  inputSeries(): readonly { readonly series: string; readonly values: string }[] {
    // Counters that never rise only take time, but for those that show that a receiver is there.
    const isNeeded = ([series, { values }]: [string, { readonly values: readonly number[] }]) =>
      !/_(?:total|bucket|count)\{/.test(series) ||
      series.includes('"handled"') ||
      values.some((value) => value > 0);
    return [...this.#series].filter(isNeeded).map(([series, { values }]) => ({
      series,
      values: runsOf(values).join(" "),
    }));
  }

  #at(name: string, labels: Labels): { current: number } {
    const sorted = Object.entries({ job: "receiver", instance: "a", ...labels }).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const key = `${name}{${sorted.map(([label, value]) => `${label}="${value}"`).join(",")}}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const [first] = this.#series.values();
      series = { current: 0, values: new Array<number>(first?.values.length ?? 0).fill(0) };
      this.#series.set(key, series);
    }
    return series;
  }
}

function runsOf(values: readonly number[]): readonly string[] {
  const runs: { value: number; length: number }[] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last !== undefined && Object.is(last.value, value)) last.length += 1;
    else runs.push({ value, length: 1 });
  }
  return runs.map(({ value, length }) => {
    // promtool's way to write that there is no sample.
    if (Number.isNaN(value)) return `_x${length}`;
    return length === 1 ? String(value) : `${value}+0x${length - 1}`;
  });
}

export const HOUR = 60;
export const DAY = 24 * HOUR;
export const WEEK = 7 * DAY;
